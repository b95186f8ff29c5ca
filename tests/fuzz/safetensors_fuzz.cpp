#include "cambrian/tests/fuzz/fuzz.hpp"

#include "cambrian/engine/io/safetensors.hpp"

// Any bytes are either an error or content that is the same after writing and reading it.
namespace cambrian {

void fuzz_safetensors(std::span<const std::byte> bytes) {
    const Safetensors content = decode_safetensors(bytes, "input");
    for (const auto& [name, tensor] : content.tensors) static_cast<void>(tensor.tensor());
    fuzz_expect(decode_safetensors(encode(content), "copy") == content);
}

}  // namespace cambrian
