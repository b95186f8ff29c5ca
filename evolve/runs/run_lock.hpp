#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cambrian/engine/core/error.hpp"

// Who works in a run directory.
namespace cambrian::distributed {

/// Another process works in a run directory.
class LockHeld : public ConfigError {
  public:
    using ConfigError::ConfigError;
};

/// The lock of a run directory, held while it lives; the system frees it when its holder ends.
class RunLock {
  public:
    /// Throws LockHeld naming the holder when another process has it, ConfigError where there are
    /// no locks, OutputError where its file cannot be written; InputError for one that is no
    /// regular file.
    explicit RunLock(const std::filesystem::path& directory);
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

    /// Whether it is still the lock of a directory: not where that was moved away or made anew.
    [[nodiscard]] bool is_of(const std::filesystem::path& directory) const;

  private:
    int file_;
};

/// Who works in a run directory now ("process 71 on node3"); nothing when nobody does. Asks the
/// lock itself. Throws OutputError where the system refuses to have it asked, and InputError for
/// one that is no regular file.
[[nodiscard]] std::optional<std::string> holder_of_run(const std::filesystem::path& directory);

/// Kills the process that holds the lock where it is one of this host, is stopped, and is the one
/// that took the lock, by the time it began. Its words as holder_of_run gives them; nothing where
/// that is not so, or the system refuses.
std::optional<std::string> kill_stopped_holder(const std::filesystem::path& directory);

}  // namespace cambrian::distributed
