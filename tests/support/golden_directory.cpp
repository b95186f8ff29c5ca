#include "cambrian/tests/support/golden_directory.hpp"

#include <cstdlib>

namespace cambrian::test {
namespace {

const char* given_directory() {
    return std::getenv("CAMBRIAN_GOLDEN_DIR");
}

}  // namespace

std::filesystem::path golden_directory() {
    const char* const given = given_directory();
    return given != nullptr ? std::filesystem::path(given)
                            : std::filesystem::path(CAMBRIAN_SOURCE_DIR) / "tests/golden";
}

bool golden_set_lacks(std::string_view name) {
    return given_directory() != nullptr && !std::filesystem::exists(golden_directory() / name);
}

}  // namespace cambrian::test
