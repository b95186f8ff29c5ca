#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/evolve/runs/run_lock.hpp"
#include "cambrian/evolve/runs/run_status.hpp"

namespace cambrian::distributed {

/// A checkpoint of an evolution but the newest, which is checkpoint.cmb.
struct OlderCheckpoint {
    std::filesystem::path path;
    std::uint64_t generation = 0;
};
inline constexpr const char* newest_checkpoint = "checkpoint.cmb";
/// "checkpoint-<generation>.cmb"
[[nodiscard]] std::string older_checkpoint(std::uint64_t generation);
/// Those in a directory, newest first.
[[nodiscard]] std::vector<OlderCheckpoint> older_checkpoints(
    const std::filesystem::path& directory);
/// Whether a checkpoint of an evolution lies in a directory.
[[nodiscard]] bool holds_checkpoint(const std::filesystem::path& directory);

/// The directory of one run, locked by this process.
class RunDirectory {
  public:
    /// Creates and locks it. Throws as RunLock does, and OutputError where the system refuses.
    explicit RunDirectory(std::filesystem::path path);
    RunDirectory(const RunDirectory&) = delete;
    RunDirectory& operator=(const RunDirectory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    /// Name of a file of an earlier run that starting anew would lose: a checkpoint, a network or a
    /// table with more than its header. A run that ended before it left any of them leaves nothing.
    [[nodiscard]] std::optional<std::string> kept_file() const;
    /// The same of networks, which going on without a checkpoint would lose, too.
    [[nodiscard]] std::optional<std::string> kept_network() const;
    /// How the last run here ended where it could not say it itself: a line with the number of
    /// `units` ("generations") that were done.
    [[nodiscard]] std::optional<std::string> unfinished(std::string_view units) const;
    /// The resolved config with the arithmetic fingerprint of this run beside it. Throws
    /// ConfigError where it is longer than a reader takes.
    void write_config(const std::string& resolved_json, const std::string& fingerprint) const;
    /// Throws as require_own() does.
    void write_status(const RunStatus& status) const;
    /// Throws InputError where the path is another directory than the one that was locked: who
    /// writes there now is another run.
    void require_own() const;

  private:
    void sweep() const;

    std::filesystem::path path_;
    RunLock lock_;
};

}  // namespace cambrian::distributed
