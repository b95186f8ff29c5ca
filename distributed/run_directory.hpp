#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/distributed/checkpoint.hpp"

namespace cambrian::distributed {

/// What status.json says.
struct RunStatus {
    std::string state;  ///< running, done, interrupted, failed.
    int exit_code = 0;
    std::uint64_t generation = 0;
    std::optional<double> best;
    std::optional<double> best_validated;  ///< Absent until it is known, like the next.
    std::optional<double> best_tested;
    std::string reason;
};

/// The directory of one run, locked by this process.
class RunDirectory {
  public:
    /// Creates and locks it. Throws ConfigError naming the holder when another process has it.
    explicit RunDirectory(std::filesystem::path path, std::uint64_t keep);
    ~RunDirectory();
    RunDirectory(const RunDirectory&) = delete;
    RunDirectory& operator=(const RunDirectory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    /// Whether a run began here before.
    [[nodiscard]] bool holds_run() const;

    /// Tries the checkpoints, newest first, until `accept` throws no InputError; says of each that
    /// was refused through `warn`, and puts it aside. Nothing when there is no checkpoint at all;
    /// throws InputError when there are some but none is sound.
    [[nodiscard]] bool load_newest(const std::function<void(Checkpoint&&)>& accept,
                                   const std::function<void(const std::string&)>& warn);
    /// The newest checkpoint becomes checkpoint-<generation>.cmb; the oldest beyond `keep` go.
    void save(const Checkpoint& checkpoint);

    /// The resolved config with the arithmetic fingerprint of this run beside it.
    void write_config(const std::string& resolved_json, const std::string& fingerprint) const;
    void write_status(const RunStatus& status) const;

  private:
    struct Candidate {
        std::filesystem::path path;
        std::uint64_t generation = 0;
    };
    /// Older checkpoints, newest first.
    [[nodiscard]] std::vector<Candidate> older() const;
    void lock();
    void sweep() const;

    std::filesystem::path path_;
    std::uint64_t keep_;
    int lock_ = -1;
    std::optional<std::uint64_t> newest_;  ///< Generation of checkpoint.cmb.
};

}  // namespace cambrian::distributed
