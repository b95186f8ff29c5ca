#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/evolve/analysis/statistics.hpp"
#include "cambrian/launch/json.hpp"
#include "cambrian/launch/trials/trial.hpp"

namespace cambrian::launch {

/// What a set of trials came to. Of a failed run evaluations and generations count as they were
/// when it ended: at its cap, or before.
struct TrialsSummary {
    std::uint64_t runs = 0;
    std::optional<std::uint64_t> solved;  ///< Nothing where the config asks for nothing to reach.
    std::optional<evolve::Interval> solved_interval;  ///< Of the share, 95 %.
    /// Failed runs that ended before their cap, as those that died out: with more, the means of
    /// evaluations and generations would be larger.
    std::uint64_t failed_before_cap = 0;
    std::uint64_t champion_tests = 0;
    /// evaluations, generations, best, validated, tested, seconds: those that are known.
    std::vector<std::pair<std::string, evolve::Distribution>> measured;
};
[[nodiscard]] TrialsSummary summary_of(const std::vector<Trial>& trials);

[[nodiscard]] Json to_json(const TrialsSummary& summary);
/// Lines for a console.
[[nodiscard]] std::string summary_text(const TrialsSummary& summary);
/// Names and values of one row that says as much: of the table of a sweep.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> columns_of(
    const TrialsSummary& summary);

}  // namespace cambrian::launch
