#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

// How a run stands: what its status.json says.
namespace cambrian::distributed {

/// What status.json of a run directory says, one meaning for each key.
struct RunStatus {
    std::string state;             ///< running, done, interrupted, failed.
    std::optional<int> exit_code;  ///< Of the process; absent while it runs.
    std::uint64_t generation = 0;  ///< Generations that are done; epochs of a training.
    std::optional<double> best;    ///< Fitness of best.cmb, the number that a console calls best.
    std::optional<double> validated;  ///< Of the same network on data for validation.
    std::optional<double> tested;     ///< On data for tests, known when the run is done.
    std::optional<bool> solved;       ///< Whether what run.stop asks is reached; absent: nothing.
    std::string reason;               ///< Why it ended.
    std::optional<std::uint64_t> champion_tests{};  ///< Where run.stop.solved asks for them.
    /// Bytes of a generation in the journal and in individuals.cmb, on average since the last
    /// start; none of a training.
    std::optional<double> journal_bytes{};
    std::optional<double> individuals_bytes{};
};

void write_status_file(const std::filesystem::path& path, const RunStatus& status);
/// Nothing when there is no such file. Throws InputError when it says no status.
[[nodiscard]] std::optional<RunStatus> read_status_file(const std::filesystem::path& path);
/// Generations or epochs that are done by a status and, of a run that goes on or was killed, by its
/// table, which has a line for each where there is no status of each.
[[nodiscard]] std::uint64_t rounds_done(const RunStatus& status,
                                        const std::filesystem::path& directory);
/// A status as the files of a run tell it: without one it runs, or ended before it could say so.
[[nodiscard]] RunStatus known_status(const std::optional<RunStatus>& status,
                                     const std::filesystem::path& directory);

}  // namespace cambrian::distributed
