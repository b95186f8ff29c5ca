#pragma once

#include <filesystem>

namespace cambrian::distributed {

/// Opens a file of a run directory and returns its descriptor; O_CREAT makes it readable by all.
/// Never through a symbolic link, and only a regular file: whoever may write to the directory could
/// otherwise have us write to any file of ours, or wait for a pipe. Throws InputError saying so,
/// and with the system's reason where it refuses.
[[nodiscard]] int open_own_file(const std::filesystem::path& path, int flags);

}  // namespace cambrian::distributed
