#include "cambrian/tests/support/golden_directory.hpp"

#include <cstdlib>

namespace cambrian::test {

std::filesystem::path golden_directory() {
    const char* const given = std::getenv("CAMBRIAN_GOLDEN_DIR");
    return given != nullptr ? std::filesystem::path(given)
                            : std::filesystem::path(CAMBRIAN_SOURCE_DIR) / "tests/golden";
}

}  // namespace cambrian::test
