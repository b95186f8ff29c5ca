#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/evolve/runs/run_lock.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/trials/trial.hpp"
#include "cambrian/launch/trials/trial_content.hpp"

namespace cambrian::launch {

/// The seeds that trials are wanted of.
struct SeedRange {
    std::uint64_t first = 1;
    std::uint64_t count = 0;
    [[nodiscard]] bool contains(std::uint64_t seed) const {
        return seed >= first && seed - first < count;
    }
};

/// The directory of many runs of one config: config.json, what TrialContent writes, trials.csv (a
/// row for each run that has ended), summary.json, and a run directory for each seed. Locked while
/// it lives.
class TrialSet {
  public:
    /// Reads what is there. Throws ConfigError where another process works there, where it belongs
    /// to other settings, other data or another arithmetic, and InputError for a table that is not
    /// one.
    TrialSet(const ResolvedConfig& config, const Schema& schema, SeedRange wanted,
             TrialContent content);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path directory_of(std::uint64_t seed) const;
    [[nodiscard]] bool holds(std::uint64_t seed) const;
    /// Adds the row of a run that has ended.
    void add(const Trial& trial, const distributed::Experiment& experiment);
    /// Writes the table with its rows by seed, and what the wanted runs that are there came to.
    /// → Those, by seed.
    std::vector<Trial> finish();

  private:
    void check_config(const ResolvedConfig& config, const Schema& schema) const;
    [[nodiscard]] std::vector<std::uint64_t> wanted_seeds() const;
    void write_table() const;

    std::filesystem::path path_;
    SeedRange wanted_;
    TrialContent content_;
    std::unique_ptr<distributed::RunLock> lock_;
    std::vector<Trial> trials_;
};

/// The rows of the table in a directory of trials; none where there is no table. Throws InputError
/// for a table that is not one.
[[nodiscard]] std::vector<Trial> read_trials(const std::filesystem::path& directory);
/// Whether a folder in a directory of trials has the name of a seed's directory.
[[nodiscard]] bool is_folder_of_trial(std::string_view name);

}  // namespace cambrian::launch
