#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cambrian::distributed {

/// What status.json of a run directory says, one meaning for each key.
struct RunStatus {
    std::string state;             ///< running, done, interrupted, failed.
    std::optional<int> exit_code;  ///< Of the process; absent while it runs.
    std::uint64_t generation = 0;  ///< Generations that are done; epochs of a training.
    std::optional<double> best;    ///< Fitness of best.cmb, the number that a console calls best.
    std::optional<double> validated;  ///< Of the same network on data for validation.
    std::optional<double> tested;     ///< On data for tests, known when the run is done.
    std::optional<bool> solved;       ///< Whether run.stop.fitness is reached; absent: none asked.
    std::string reason;               ///< Why it ended.
};

/// Writes a file anew without waiting for the disk: for what may be lost. A reader sees the old
/// text or the new one; where there is no room for both, the old one is written over in place.
/// Throws InputError when the disk refuses that, too, and for a symbolic link.
void replace_text(const std::filesystem::path& path, std::string_view text);

void write_status_file(const std::filesystem::path& path, const RunStatus& status);
/// Nothing when there is no such file. Throws InputError when it says no status.
[[nodiscard]] std::optional<RunStatus> read_status_file(const std::filesystem::path& path);

}  // namespace cambrian::distributed
