#pragma once

#include <cstdint>
#include <memory>

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

}  // namespace cambrian
