#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/evolve/runs/run_lock.hpp"
#include "cambrian/evolve/runs/status_file.hpp"

namespace cambrian::distributed {

/// Whether a checkpoint of an evolution lies in a directory.
[[nodiscard]] bool holds_checkpoint(const std::filesystem::path& directory);

/// The directory of one run, locked by this process.
class RunDirectory {
  public:
    /// Creates and locks it. Throws ConfigError naming the holder when another process has it, and
    /// where the system refuses; InputError for a lock that is no regular file.
    explicit RunDirectory(std::filesystem::path path, std::uint64_t keep);
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
    /// Makes the folder of the ranks' logs. Throws ConfigError where the system refuses.
    void make_logs() const;

    /// Tries the checkpoints, newest first, until `accept` throws no InputError; says of each that
    /// was refused through `warn`, and puts it aside. Nothing when there is no checkpoint at all;
    /// throws InputError when there are some but none is sound, and when the lines that it counts
    /// were changed.
    [[nodiscard]] bool load_newest(const std::function<void(Checkpoint&&)>& accept,
                                   const std::function<void(const std::string&)>& warn);
    /// The newest checkpoint becomes checkpoint-<generation>.cmb; the oldest beyond `keep` go.
    void save(const Checkpoint& checkpoint);

    /// The resolved config with the arithmetic fingerprint of this run beside it.
    void write_config(const std::string& resolved_json, const std::string& fingerprint) const;
    void write_status(const RunStatus& status) const;

  private:
    void sweep() const;

    std::filesystem::path path_;
    std::uint64_t keep_;
    RunLock lock_;
    std::optional<std::uint64_t> newest_;  ///< Generation of checkpoint.cmb.
};

}  // namespace cambrian::distributed
