#include "cambrian/engine/tensor/tensor_hash.hpp"

#include <span>

namespace cambrian {

Hash128 content_hash(const Tensor& tensor) {
    return Hasher()
        .add(name(tensor.type))
        .add(tensor.shape.text())
        .add(hash128(std::as_bytes(std::span(tensor.elements))))
        .hash128();
}

}  // namespace cambrian
