#include "cambrian/tests/fuzz/fuzz.hpp"

#include "cambrian/engine/io/container.hpp"

// Any bytes are either an error or a container that is the same after writing and reading it.
namespace cambrian {

void fuzz_container(std::span<const std::byte> bytes) {
    const Container container = decode_container(bytes, "input");
    fuzz_expect(decode_container(encode(container), "copy") == container);
}

}  // namespace cambrian
