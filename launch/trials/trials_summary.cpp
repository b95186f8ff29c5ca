#include "cambrian/launch/trials/trials_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>

namespace cambrian::launch {
namespace {

std::string number_text(std::optional<double> value) {
    return value ? fmt::format("{}", *value) : std::string();
}

bool ended_at_cap(const Trial& trial) {
    using enum distributed::StopReason;
    return std::ranges::any_of(std::array{generations, evaluations, seconds}, [&](auto reason) {
        return trial.reason == distributed::name(reason);
    });
}

/// The quantity of every run that has it.
void measure(TrialsSummary& summary, const char* name, const std::vector<Trial>& trials,
             const std::function<std::optional<double>(const Trial&)>& quantity) {
    std::vector<double> values;
    for (const Trial& trial : trials)
        if (const auto value = quantity(trial)) values.push_back(*value);
    if (const auto distribution = evolve::distribution_of(values))
        summary.measured.emplace_back(name, *distribution);
}

Json interval_json(const evolve::Interval& interval) {
    return Json::array({interval.low, interval.high});
}

Json to_json(const evolve::Distribution& d) {
    return {{"count", d.count},
            {"mean", d.mean},
            {"mean_interval", d.mean_interval ? interval_json(*d.mean_interval) : Json()},
            {"deviation", d.deviation ? Json(*d.deviation) : Json()},
            {"median", d.median},
            {"least", d.least},
            {"largest", d.largest}};
}

/// Long enough to compare, short enough to read.
std::string shown(double value) {
    return fmt::format("{:.6g}", value);
}

/// @param runs of all; where fewer have the quantity, the line says how many.
std::string line_of(const std::string& name, const evolve::Distribution& d, std::uint64_t runs) {
    std::string text = fmt::format("  {:<15} mean {}", name, shown(d.mean));
    if (d.mean_interval)
        text += fmt::format(" (95 %: {} to {}), deviation {}", shown(d.mean_interval->low),
                            shown(d.mean_interval->high), shown(*d.deviation));
    text += fmt::format(", median {}, least {}, largest {}", shown(d.median), shown(d.least),
                        shown(d.largest));
    return text + (d.count < runs ? fmt::format(" ({} of {} runs)\n", d.count, runs) : "\n");
}

}  // namespace

TrialsSummary summary_of(const std::vector<Trial>& trials) {
    TrialsSummary summary;
    summary.runs = trials.size();
    for (const Trial& trial : trials) {
        summary.champion_tests += trial.champion_tests;
        if (!trial.solved) continue;
        summary.solved = summary.solved.value_or(0) + (*trial.solved ? 1U : 0U);
        summary.failed_before_cap += *trial.solved || ended_at_cap(trial) ? 0U : 1U;
    }
    if (summary.solved)
        summary.solved_interval = evolve::wilson_interval(*summary.solved, summary.runs);
    const auto real = [](std::uint64_t value) { return static_cast<double>(value); };
    measure(summary, "evaluations", trials, [&](const Trial& t) { return real(t.evaluations); });
    measure(summary, "generations", trials, [&](const Trial& t) { return real(t.generations); });
    measure(summary, "best", trials, [](const Trial& t) { return t.best; });
    measure(summary, "validated", trials, [](const Trial& t) { return t.validated; });
    measure(summary, "tested", trials, [](const Trial& t) { return t.tested; });
    measure(summary, "seconds", trials, [](const Trial& t) { return t.seconds; });
    return summary;
}

Json to_json(const TrialsSummary& summary) {
    Json json{
        {"runs", summary.runs},        {"solved", summary.solved ? Json(*summary.solved) : Json()},
        {"success_rate", Json()},      {"success_interval", Json()},
        {"failed_before_cap", Json()}, {"champion_tests", summary.champion_tests}};
    if (summary.solved) {
        json["failed_before_cap"] = summary.failed_before_cap;
        json["success_rate"] =
            static_cast<double>(*summary.solved) / static_cast<double>(summary.runs);
        json["success_interval"] = interval_json(*summary.solved_interval);
    }
    for (const auto& [name, distribution] : summary.measured) json[name] = to_json(distribution);
    return json;
}

std::string summary_text(const TrialsSummary& summary) {
    std::string text;
    if (summary.solved)
        text += fmt::format(
            "  {:<15} {} of {} ({:.1f} %; 95 %: {:.1f} to {:.1f} %)\n", "solved", *summary.solved,
            summary.runs,
            100.0 * static_cast<double>(*summary.solved) / static_cast<double>(summary.runs),
            100.0 * summary.solved_interval->low, 100.0 * summary.solved_interval->high);
    else
        text += "  solved: not asked (neither run.stop.solved nor run.stop.fitness is set)\n";
    for (const auto& [name, distribution] : summary.measured)
        text += line_of(name, distribution, summary.runs);
    if (summary.champion_tests > 0)
        text += fmt::format("  {:<15} {} in all, apart from the evaluations\n", "champion tests",
                            summary.champion_tests);
    if (const std::uint64_t failed = summary.solved ? summary.runs - *summary.solved : 0;
        failed > 0) {
        text += fmt::format("  {} failed {} as many as {} made until {} ended", failed,
                            failed == 1 ? "run counts" : "runs count", failed == 1 ? "it" : "they",
                            failed == 1 ? "it" : "they");
        if (summary.failed_before_cap > 0)
            text += fmt::format(", {} before the cap (reason in trials.csv)",
                                summary.failed_before_cap);
        text += '\n';
    }
    return text;
}

std::vector<std::pair<std::string, std::string>> columns_of(const TrialsSummary& summary) {
    std::vector<std::pair<std::string, std::string>> columns;
    const auto add = [&](const std::string& name, std::optional<double> value) {
        columns.emplace_back(name, number_text(value));
    };
    const auto real = [](std::uint64_t value) { return static_cast<double>(value); };
    columns.emplace_back("runs", std::to_string(summary.runs));
    columns.emplace_back("solved", summary.solved ? std::to_string(*summary.solved) : "");
    const auto rate = [&]() -> std::optional<double> {
        if (!summary.solved) return std::nullopt;
        return real(*summary.solved) / real(summary.runs);
    };
    add("success_rate", rate());
    const auto& interval = summary.solved_interval;
    add("success_low", interval ? std::optional(interval->low) : std::nullopt);
    add("success_high", interval ? std::optional(interval->high) : std::nullopt);
    columns.emplace_back("failed_before_cap",
                         summary.solved ? std::to_string(summary.failed_before_cap) : "");
    add("champion_tests", real(summary.champion_tests));
    for (const char* name : {"evaluations", "generations", "best", "validated", "tested"}) {
        std::optional<evolve::Distribution> found;
        for (const auto& [measured, distribution] : summary.measured)
            if (measured == name) found = distribution;
        const auto column = [&](const char* what, std::optional<double> value) {
            add(fmt::format("{}_{}", name, what), found ? value : std::nullopt);
        };
        const evolve::Distribution d = found.value_or(evolve::Distribution{});
        const auto& mean = d.mean_interval;
        column("mean", d.mean);
        column("mean_low", mean ? std::optional(mean->low) : std::nullopt);
        column("mean_high", mean ? std::optional(mean->high) : std::nullopt);
        column("deviation", d.deviation);
        column("median", d.median);
        column("least", d.least);
        column("largest", d.largest);
        columns.emplace_back(fmt::format("{}_count", name), std::to_string(d.count));
    }
    return columns;
}

}  // namespace cambrian::launch
