#include "cambrian/engine/backend/host_copy.hpp"

#include <vector>

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

}  // namespace cambrian
