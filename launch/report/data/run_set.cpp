#include "cambrian/launch/report/data/run_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/worth.hpp"
#include "cambrian/launch/trials/trial_set.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// Leaves what a page tells of a run beside another one.
void keep_overview(RunData& run) {
    std::erase_if(run.columns, [](const auto& column) { return column.first != "evaluations"; });
    for (auto& [name, column] : run.columns)
        if (!column.value.empty()) column = {{column.generation.back()}, {column.value.back()}};
    run.sampled_mean = {};
    run.config.clear();
    run.unpriced = {};
    run.seconds_by_rank.clear();
    run.evaluation_by_rank.clear();
    run.species.clear();
    if (!run.best) return;
    run.best->genome = {};
    run.best->identity_json.clear();
    run.best->preparation.reset();
}

bool is_better(const RunData& challenger, const RunData& champion) {
    const auto solves = [](const RunData& run) {
        return run.best && run.status && run.status->solved.value_or(false);
    };
    const auto worth = [](const RunData& run) {
        return run.best ? distributed::Worth{run.best->fitness, run.best->validated}
                        : distributed::Worth{};
    };
    if (solves(challenger) != solves(champion)) return solves(challenger);
    return better(worth(challenger), worth(champion));
}

}  // namespace

std::vector<RunData> read_runs(std::span<const fs::path> directories) {
    std::set<fs::path> seen;
    std::vector<RunData> runs;
    std::size_t best = 0;
    for (const fs::path& directory : directories) {
        if (!seen.insert(fs::weakly_canonical(directory)).second) continue;
        runs.push_back(read_run(directory));
        if (runs.size() == 1) continue;
        const bool is_best = is_better(runs.back(), runs[best]);
        keep_overview(is_best ? runs[best] : runs.back());
        if (is_best) best = runs.size() - 1;
    }
    return runs;
}

const RunData& best_run(std::span<const RunData> runs) {
    CAMBRIAN_EXPECT(!runs.empty());
    const RunData* best = &runs.front();
    for (const RunData& run : runs)
        if (is_better(run, *best)) best = &run;
    return *best;
}

std::vector<fs::path> runs_in(const fs::path& path) {
    if (fs::exists(path / "generations.csv")) return {path};
    // Beside trials lie damaged ones that were set aside.
    const bool trials = holds_trials(path);
    std::vector<fs::path> runs;
    std::error_code unreadable;  // Another's folder, or a link that leads nowhere.
    if (fs::is_directory(path))
        for (const auto& entry : fs::directory_iterator(path))
            if (fs::exists(entry.path() / "generations.csv", unreadable) &&
                (!trials || is_folder_of_trial(entry.path().filename().string())))
                runs.push_back(entry.path());
    if (runs.empty())
        throw InputError(
            fs::exists(path / "epochs.csv")
                ? fmt::format("{} is the directory of a training (reports are of evolutions and "
                              "trials) see its epochs.csv, or name another directory",
                              path.string())
                : fmt::format("there is no run in {} (no generations.csv is there or one folder "
                              "below) name the directory of an evolution, or of trials",
                              path.string()));
    std::ranges::sort(runs, [](const fs::path& a, const fs::path& b) {
        const std::string left = a.filename();
        const std::string right = b.filename();
        return std::pair(left.size(), left) < std::pair(right.size(), right);
    });
    return runs;
}

}  // namespace cambrian::launch
