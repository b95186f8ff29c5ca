#pragma once

#include <filesystem>

namespace cambrian::test {

/// Known results: CAMBRIAN_GOLDEN_DIR, or the copy in tests/golden.
[[nodiscard]] std::filesystem::path golden_directory();

}  // namespace cambrian::test
