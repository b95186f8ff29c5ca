#include "cambrian/tests/fuzz/fuzz.hpp"

#include <cstdint>
#include <cstdlib>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

void fuzz_expect(bool condition) {
    if (!condition) std::abort();
}

void run_target(void (*target)(std::span<const std::byte>), std::span<const std::byte> bytes) {
    try {
        target(bytes);
    } catch (const InputError&) {
        return;
    } catch (const ShapeError&) {
        return;
    }
}

}  // namespace cambrian

#ifdef CAMBRIAN_FUZZ_TARGET
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cambrian::run_target(cambrian::CAMBRIAN_FUZZ_TARGET, std::as_bytes(std::span(data, size)));
    return 0;
}
#endif
