#pragma once

#include <cstdint>
#include <cstdlib>

namespace cambrian::test {

/// Whether every case is wanted, as at night (CAMBRIAN_ALL_CASES), or a sample that the suite has
/// time for.
[[nodiscard]] inline bool all_cases() {
    return std::getenv("CAMBRIAN_ALL_CASES") != nullptr;
}

/// The number that a variable of the environment asks for, or one that the suite has time for.
[[nodiscard]] inline std::uint64_t asked(const char* variable, std::uint64_t unasked) {
    const char* text = std::getenv(variable);
    return text == nullptr ? unasked : std::strtoull(text, nullptr, 10);
}

}  // namespace cambrian::test
