#include "cambrian/tests/fuzz/fuzz.hpp"

#include <cstdint>
#include <cstdlib>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

void fuzz_expect(bool condition) {
    if (!condition) std::abort();
}

}  // namespace cambrian

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        cambrian::fuzz(std::as_bytes(std::span(data, size)));
    } catch (const cambrian::InputError&) {
        return 0;
    } catch (const cambrian::ShapeError&) {
        return 0;
    }
    return 0;
}
