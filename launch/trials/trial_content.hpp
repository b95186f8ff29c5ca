#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/distributed/experiment.hpp"
#include "cambrian/launch/config/schema.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {

/// What trials depend on beside their config: the arithmetic, and hashes of the data and of the
/// networks that runs start from. content.json of their directory holds what is the same for all,
/// seeds.jsonl a line for each run where `{seed}` names data or networks.
class TrialContent {
  public:
    /// Reads the data of the run of a seed; nothing: the command was interrupted.
    using Prepare = std::function<std::optional<distributed::Experiment>(std::uint64_t seed)>;

    /// @param first of any seed.
    /// @param prepare null where no run has data or networks of its own.
    TrialContent(const std::string& arithmetic, const distributed::Experiment& first,
                 Prepare prepare);

    /// Takes what the directory of the trials holds of the runs there. Throws ConfigError where
    /// that of all, or of one of the seeds, was another.
    /// @param seeds of runs that have ended, and count.
    /// → Those of which nothing is known: a host that went down may have lost it.
    std::vector<std::uint64_t> take(const std::filesystem::path& directory,
                                    const std::vector<std::uint64_t>& seeds);
    void write(const std::filesystem::path& directory) const;
    /// Writes that of a run that has ended, too.
    void add(const std::filesystem::path& directory, std::uint64_t seed,
             const distributed::Experiment& experiment);

  private:
    std::shared_ptr<const Json> of_all_;
    Prepare prepare_;
    std::map<std::uint64_t, std::shared_ptr<const Json>> by_seed_;
};

/// Whether `{seed}` names data or networks that runs of a config read: no place but that of data,
/// and nothing that a program of the task `external` is told.
/// @param base_directory run.base_directory before its seed is filled in.
[[nodiscard]] bool seed_names_data(const Schema& schema, const Json& config,
                                   const std::string& base_directory);

/// Whether a directory is one of trials: it has a content.json.
[[nodiscard]] bool holds_trials(const std::filesystem::path& directory);

/// Adds a line to a table of trials. Throws OutputError where the system refuses.
void append_line(const std::filesystem::path& table, std::string_view line);

}  // namespace cambrian::launch
