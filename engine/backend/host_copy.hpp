#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"

// Host tensors into buffers and back.
namespace cambrian {

/// Shape of a whole value that is bound, with its population axis in front where it has one.
[[nodiscard]] Shape bound_shape(const ValueInfo& info, std::int64_t population);
/// Writes the elements of a tensor to the front of a buffer of its type.
void write_tensor(Backend& backend, Buffer& buffer, const Tensor& tensor);
/// A new buffer with the elements of a tensor.
[[nodiscard]] std::unique_ptr<Buffer> upload_tensor(Backend& backend, const Tensor& tensor);
/// The first elements of a buffer, as many as the shape has.
[[nodiscard]] Tensor download_tensor(Backend& backend, const Buffer& buffer, const Shape& shape);

/// A new buffer for each output of a graph.
class OutputBuffers {
  public:
    OutputBuffers(Backend& backend, const Graph& graph, std::int64_t population);

    /// In order, for as long as this lives.
    [[nodiscard]] std::span<const Binding> bindings() const { return bindings_; }
    /// What they hold.
    [[nodiscard]] std::vector<Tensor> read(Backend& backend) const;

  private:
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<Binding> bindings_;
    std::vector<Shape> shapes_;
};

}  // namespace cambrian
