#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cambrian/evolve/runs/run_lock.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/trials/trial.hpp"

namespace cambrian::launch {

/// The directory of many runs of one config: config.json, trials.csv (a row for each run that has
/// ended), summary.json, and a run directory for each seed. Locked while it lives.
class TrialSet {
  public:
    /// Reads what is there. Throws ConfigError where another process works there, where it belongs
    /// to other settings, other data or another arithmetic, and InputError for a table that is not
    /// one.
    /// @param content what the results depend on beside the config: hashes of data, arithmetic.
    TrialSet(const ResolvedConfig& config, const Schema& schema, const Json& content);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path directory_of(std::uint64_t seed) const;
    [[nodiscard]] const std::vector<Trial>& trials() const { return trials_; }
    [[nodiscard]] bool holds(std::uint64_t seed) const;
    /// Adds the row of a run that has ended.
    void add(const Trial& trial);
    /// Writes the table with its rows by seed, and what the wanted runs that are there came to.
    /// → Those, by seed.
    std::vector<Trial> finish(std::uint64_t first_seed, std::uint64_t runs);

  private:
    void check_config(const ResolvedConfig& config, const Schema& schema) const;
    void check_content(const Json& content) const;
    void read_trials();

    std::filesystem::path path_;
    std::unique_ptr<distributed::RunLock> lock_;
    std::vector<Trial> trials_;
};

}  // namespace cambrian::launch
