#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace cambrian::distributed {

/// The lock of a run directory, held while it lives; the system frees it when its holder ends.
class RunLock {
  public:
    /// Throws ConfigError naming the holder when another process has it, and where the system
    /// refuses; InputError for a lock that is no regular file.
    explicit RunLock(const std::filesystem::path& directory);
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

  private:
    int file_;
};

/// Who works in a run directory now ("process 71 on node3"); nothing when nobody does. Asks the
/// lock itself. Throws InputError where it cannot be asked.
[[nodiscard]] std::optional<std::string> holder_of_run(const std::filesystem::path& directory);

}  // namespace cambrian::distributed
