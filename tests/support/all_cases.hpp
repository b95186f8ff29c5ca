#pragma once

#include <cstdlib>

namespace cambrian::test {

/// Whether every case is wanted, as at night (CAMBRIAN_ALL_CASES), or a sample that the suite has
/// time for.
[[nodiscard]] inline bool all_cases() {
    return std::getenv("CAMBRIAN_ALL_CASES") != nullptr;
}

}  // namespace cambrian::test
