#include "cambrian/engine/backend/host_copy.hpp"

namespace cambrian {

Shape bound_shape(const ValueInfo& info, std::int64_t population) {
    if (!info.per_individual) return info.shape;
    std::vector<std::int64_t> extents{population};
    extents.insert(extents.end(), info.shape.extents().begin(), info.shape.extents().end());
    return Shape(std::span<const std::int64_t>(extents));
}

void write_tensor(Backend& backend, Buffer& buffer, const Tensor& tensor) {
    if (tensor.type == ValueType::real) {
        backend.upload(buffer, 0, std::span<const double>(tensor.elements));
    } else {
        const std::vector<std::int32_t> words(tensor.elements.begin(), tensor.elements.end());
        backend.upload(buffer, 0, std::span<const std::int32_t>(words));
    }
}

std::unique_ptr<Buffer> upload_tensor(Backend& backend, const Tensor& tensor) {
    auto buffer = backend.allocate(tensor.type, tensor.shape.elements());
    write_tensor(backend, *buffer, tensor);
    return buffer;
}

Tensor download_tensor(Backend& backend, const Buffer& buffer, const Shape& shape) {
    Tensor tensor(buffer.type(), shape);
    if (tensor.type == ValueType::real) {
        backend.download(buffer, 0, std::span<double>(tensor.elements));
    } else {
        std::vector<std::int32_t> words(tensor.elements.size());
        backend.download(buffer, 0, std::span<std::int32_t>(words));
        tensor.elements.assign(words.begin(), words.end());
    }
    return tensor;
}

OutputBuffers::OutputBuffers(Backend& backend, const Graph& graph, std::int64_t population) {
    for (const ValueId id : graph.outputs()) {
        const ValueInfo& info = graph.value(id);
        shapes_.push_back(bound_shape(info, population));
        buffers_.push_back(backend.allocate(info.type, shapes_.back().elements()));
        bindings_.push_back({buffers_.back().get(), 0});
    }
}

std::vector<Tensor> OutputBuffers::read(Backend& backend) const {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < buffers_.size(); ++i)
        tensors.push_back(download_tensor(backend, *buffers_[i], shapes_[i]));
    return tensors;
}

}  // namespace cambrian
