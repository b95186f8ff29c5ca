#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cambrian/distributed/run.hpp"

namespace cambrian::launch {

/// One run of many: a row of trials.csv.
struct Trial {
    std::uint64_t seed = 0;
    std::optional<bool> solved;  ///< As RunResult::solved.
    std::string reason;          ///< Why it ended.
    std::uint64_t generations = 0;
    std::uint64_t evaluations = 0;  ///< To solve; of a run that failed those it made.
    std::uint64_t champion_tests = 0;
    std::optional<double> best;  ///< Fitness of its best.cmb.
    std::optional<double> validated;
    std::optional<double> tested;
    std::uint64_t parameters = 0;
    std::uint64_t env_steps = 0;
    double seconds = 0.0;
};
[[nodiscard]] Trial trial_of(std::uint64_t seed, const distributed::RunResult& result);

/// trials.csv: what is not known is empty, numbers are in the shortest form that reads back.
[[nodiscard]] std::string trials_header();
[[nodiscard]] std::string trial_line(const Trial& trial);
/// Nothing for a line that is no row, as a run that was killed may leave it at the end.
[[nodiscard]] std::optional<Trial> read_trial_line(std::string_view line);

}  // namespace cambrian::launch
