#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/csv.hpp"
#include "cambrian/evolve/analysis/adaptation.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {
namespace {

/// Adds the generations of a run after those of the runs before it; → the first one's number.
std::uint64_t append(std::vector<evolve::Progress>& progress, const std::string& directory,
                     const std::string& measure) {
    const std::string path = (std::filesystem::path(directory) / "generations.csv").string();
    const std::vector<std::string> columns{"generation", "evaluations", measure};
    const NumberTable table = read_csv(path, columns, MissingValues::drop, {.config = false});
    const std::uint64_t steps = progress.empty() ? 0 : progress.back().step + 1;
    const std::uint64_t evaluations = progress.empty() ? 0 : progress.back().evaluations;
    for (std::int64_t row = 0; row < table.rows; ++row)
        progress.push_back(
            {.step = steps + static_cast<std::uint64_t>(table.at(row, 0)),
             .evaluations = evaluations + static_cast<std::uint64_t>(table.at(row, 1)),
             .value = table.at(row, 2)});
    return steps;
}

std::string text_of(const evolve::Adaptation& one) {
    const std::string recovered = one.steps
                                      ? fmt::format("reached after {} generations, {} evaluations",
                                                    *one.steps, *one.evaluations)
                                      : std::string("not reached");
    return fmt::format(
        "  generation {}: {:.6g} before, {:.6g} after, lowest {:.6g}, highest {:.6g}; {:.6g} {}\n",
        one.step, one.before, one.after, one.lowest, one.highest, one.goal, recovered);
}

Json json_of(const evolve::Adaptation& one) {
    return {{"generation", one.step},
            {"before", one.before},
            {"after", one.after},
            {"lowest", one.lowest},
            {"highest", one.highest},
            {"goal", one.goal},
            {"generations", one.steps ? Json(*one.steps) : Json()},
            {"evaluations", one.evaluations ? Json(*one.evaluations) : Json()}};
}

}  // namespace

int adaptation_command(const CommandContext& context, const AdaptationOptions& options) {
    std::vector<evolve::Progress> progress;
    std::vector<std::uint64_t> changes = options.changes;
    if (options.runs.size() > 1 && !changes.empty())
        throw ConfigError(
            "--change is given with several runs (the task changes from run to run) leave it out, "
            "or name one run");
    for (const std::string& run : options.runs) {
        const std::uint64_t first = append(progress, run, options.measure);
        if (first > 0) changes.push_back(first);
    }
    if (changes.empty())
        throw ConfigError(
            "there is one run and no --change (nothing says when the task changed) name the "
            "generations, or the runs that follow");
    const auto found = evolve::adaptations(progress, changes, options.share);
    if (options.json) {
        Json json = Json::array();
        for (const evolve::Adaptation& one : found) json.push_back(json_of(one));
        context.out << json.dump(2) << '\n';
        return exit_done;
    }
    context.out << fmt::format("{} generations, {} of each, recovery to {:.4g} %\n",
                               progress.size(), options.measure, 100.0 * options.share);
    for (const evolve::Adaptation& one : found) context.out << text_of(one);
    return exit_done;
}

}  // namespace cambrian::launch
