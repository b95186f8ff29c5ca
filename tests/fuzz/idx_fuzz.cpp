#include "cambrian/tests/fuzz/fuzz.hpp"

#include "cambrian/engine/io/idx.hpp"

// Any bytes, packed or plain, are either an error or a tensor.
namespace cambrian {

void fuzz_idx(std::span<const std::byte> bytes) {
    const StoredTensor tensor = decode_idx(bytes, "input");
    fuzz_expect(tensor.tensor().elements.size() ==
                static_cast<std::size_t>(tensor.shape.elements()));
}

}  // namespace cambrian
