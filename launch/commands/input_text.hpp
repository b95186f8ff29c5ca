#pragma once

#include <string>

namespace cambrian::launch {

/// All of a file, or of standard input for "-". Throws InputError for a file that cannot be read.
[[nodiscard]] std::string read_text(const std::string& path);

}  // namespace cambrian::launch
