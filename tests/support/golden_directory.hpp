#pragma once

#include <filesystem>
#include <string_view>

namespace cambrian::test {

/// Known results: CAMBRIAN_GOLDEN_DIR, or the copy in tests/golden.
[[nodiscard]] std::filesystem::path golden_directory();

/// Whether that set has no such file or folder: only one of others, which CAMBRIAN_GOLDEN_DIR
/// names, may lack it.
[[nodiscard]] bool golden_set_lacks(std::string_view name);

}  // namespace cambrian::test
