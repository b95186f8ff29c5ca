#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/analysis/adaptation.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/run_log.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {
namespace {

/// The generations of one run, or of several, and those that another task judges first.
struct History {
    std::vector<evolve::Progress> progress{};
    std::vector<std::uint64_t> changes{};
};

/// Adds the generations of a run after those of the runs before it, and the changes that its log
/// tells.
void append(History& history, const std::string& directory, const std::string& measure) {
    std::vector<evolve::Progress>& progress = history.progress;
    const auto path = std::filesystem::path(directory) / "generations.csv";
    distributed::LogReader log(path);
    const std::size_t count_at = log.at("evaluations");
    const std::size_t value_at = log.at(measure);
    const std::optional<std::size_t> task_at = log.find("task");
    const auto whole = [&](double value) {
        return static_cast<std::uint64_t>(distributed::whole_number(value, path));
    };
    const std::uint64_t steps = progress.empty() ? 0 : progress.back().step + 1;
    const std::uint64_t evaluations = progress.empty() ? 0 : progress.back().evaluations;
    // A run without a generation is none.
    if (steps > 0 && (history.changes.empty() || history.changes.back() < steps))
        history.changes.push_back(steps);
    std::optional<double> count;
    std::optional<std::uint64_t> task;
    while (const auto row = log.next()) {
        const std::uint64_t step = steps + whole(log.generation());
        if (count && (*row)[count_at] < *count)
            throw InputError(
                fmt::format("{} holds {} evaluations after {} (they never fall) restore the file "
                            "from a good copy",
                            path.string(), (*row)[count_at], *count));
        count = (*row)[count_at];
        if (task_at) {
            const std::uint64_t now = whole((*row)[*task_at]);
            if (task && now != *task) history.changes.push_back(step);
            task = now;
        }
        // Those with no value, too: not every generation is validated, yet all of them take time.
        progress.push_back(
            {.step = step, .evaluations = evaluations + whole(*count), .value = (*row)[value_at]});
    }
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

std::vector<std::optional<evolve::Adaptation>> known(const std::vector<evolve::Adaptation>& all) {
    return {all.begin(), all.end()};
}

/// @param change first generation after it.
std::string text_of(std::uint64_t change, const std::optional<evolve::Adaptation>& one) {
    if (one) return text_of(*one);
    return fmt::format(
        "  generation {}: not known (nothing is measured of the task before it, or of the one "
        "from it on)\n",
        change);
}

Json json_of(std::uint64_t change, const std::optional<evolve::Adaptation>& known) {
    if (!known) {
        Json json{{"generation", change}};
        for (const char* name :
             {"before", "after", "lowest", "highest", "goal", "generations", "evaluations"})
            json[name] = nullptr;
        return json;
    }
    const evolve::Adaptation& one = *known;
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
    if (options.runs.size() > 1 && !options.changes.empty())
        throw ConfigError(
            "--change is given with several runs (the task changes from run to run) leave it out, "
            "or name one run");
    History history;
    for (const std::string& run : options.runs) append(history, run, options.measure);
    if (!history.changes.empty() && !options.changes.empty())
        throw ConfigError(
            fmt::format("--change is given (the log of {} says when its task changed) leave it out",
                        options.runs.front()));
    const std::vector<std::uint64_t>& changes =
        history.changes.empty() ? options.changes : history.changes;
    if (changes.empty())
        throw ConfigError(
            "there is one run and no --change (nothing says when the task changed) name the "
            "generations, or the runs that follow, or evolve with task.changes");
    // Whoever names a generation means one of which something is known.
    const auto found = history.changes.empty()
                           ? known(evolve::adaptations(history.progress, changes, options.share))
                           : evolve::known_adaptations(history.progress, changes, options.share);
    if (options.json) {
        Json json = Json::array();
        for (std::size_t i = 0; i < found.size(); ++i)
            json.push_back(json_of(changes[i], found[i]));
        context.out << json.dump(2) << '\n';
        return exit_done;
    }
    context.out << fmt::format("{} generations, {} of each, recovery to {:.4g} %\n",
                               history.progress.size(), options.measure, 100.0 * options.share);
    for (std::size_t i = 0; i < found.size(); ++i) context.out << text_of(changes[i], found[i]);
    return exit_done;
}

}  // namespace cambrian::launch
