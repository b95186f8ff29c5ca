#pragma once

#include <iosfwd>
#include <string>

namespace cambrian {

/// The bytes of a text file. Throws InputError for one that is missing or unreadable, and, with
/// what to do, for what is no text: NUL bytes, UTF-16, an archive or a packed file.
[[nodiscard]] std::string read_text_file(const std::string& path);
/// All that a stream has left; messages call it `name`.
[[nodiscard]] std::string read_text(std::istream& stream, const std::string& name);

}  // namespace cambrian
