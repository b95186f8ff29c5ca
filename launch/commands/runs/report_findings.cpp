#include "cambrian/launch/commands/runs/report_findings.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/observe/summary.hpp"
#include "cambrian/evolve/evaluation/episodes.hpp"
#include "cambrian/launch/commands/checkpoint_members.hpp"
#include "cambrian/launch/commands/evaluation.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/devices/device.hpp"
#include "cambrian/launch/show/shell_word.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using evolve::Phase;

constexpr std::uintmax_t largest_log = std::uintmax_t{512} << 20U;
constexpr std::uintmax_t largest_checkpoint = std::uintmax_t{256} << 20U;
/// Networks of genotypes: each may take milliseconds to develop, in which --watch hears no signal.
constexpr std::size_t max_developed = 1000;
constexpr std::int64_t replayed_episodes = 5;
constexpr std::string_view program_task = "external";
constexpr const char* no_prices = "No prices of the networks in the checkpoint";

/// Does something for a page, which notes why it cannot be done.
void attempt(Findings& findings, const std::string& what, const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        findings.notes.push_back(fmt::format("{}: {}.", what, error.what()));
    }
}

bool too_large(Findings& findings, const std::string& what, const fs::path& file,
               std::uintmax_t limit) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    if (error || size <= limit) return false;
    findings.notes.push_back(fmt::format("{}: {} has {} MB, a report reads {}.", what,
                                         file.filename().string(), size >> 20U, limit >> 20U));
    return true;
}

void find_ancestry(const RunData& run, Findings& findings) {
    const fs::path log = run.directory / distributed::individuals_name;
    if (!fs::exists(log)) {
        findings.notes.emplace_back(
            "No lineage: there is no individuals.cmb (log.individuals is none).");
        return;
    }
    if (too_large(findings, "No lineage", log, largest_log)) return;
    attempt(findings, "No lineage", [&] {
        findings.ancestry = Ancestry(log);
        if (!run.best) return;
        const evolve::BirthId origin = findings.ancestry.origin_of(run.best->birth);
        if (findings.ancestry.find(origin) == nullptr)
            findings.notes.push_back(
                fmt::format("No lineage: individuals.cmb does not tell of birth {}, which made the "
                            "network of best.cmb.",
                            origin));
    });
}

/// Throws InputError where a section task, at whatever generation, is a program of somebody else.
void refuse_program(const Json& task) {
    if (!task.is_structured()) return;
    if (const auto type = task.find("type"); task.is_object() && type != task.end())
        if (*type == program_task)
            throw InputError(
                "the task is a program (a report reads a run, it starts none of its programs) see "
                "'cambrian evaluate' for what it reaches");
    for (const Json& part : task) refuse_program(part);
}

/// The best network, the task that it was evolved for, and what computes.
struct BestRun {
    const distributed::NetworkFile& file;
    ResolvedConfig config;
    std::shared_ptr<const evolve::Task> task;
    std::unique_ptr<Backend> backend;
    std::uint64_t seed = 0;
    evolve::Family family = evolve::Family::graph;
};

BestRun best_run_of(const CommandContext& context, const RunData& run) {
    const Schema schema(context.tasks, context.genomes);
    ResolvedConfig config =
        config_of_network((run.directory / "best.cmb").string(), *run.best, "", {}, schema);
    refuse_program(config.effective->at("task"));
    std::shared_ptr<const evolve::Task> task = make_whole_task(config, context.tasks);
    evolve::check_task_fits(*task, run.best->genome.blueprint);
    Json engine = config.effective->at("engine");
    engine["backend"] = "cpu";
    // It starts from nothing here, as in `cambrian evaluate`.
    const distributed::Experiment experiment =
        make_experiment(config, schema, task, {run.best->genome.blueprint, nullptr, {}},
                        Purpose::evaluate, context.strategies, context.genomes);
    return {*run.best,       std::move(config),
            std::move(task), make_backend(device_settings(engine, RankPlace{})),
            experiment.seed, evolve::family_of(experiment.family, experiment.variation)};
}

void find_losses(const BestRun& best, Findings& findings) {
    for (const Phase phase : {Phase::train, Phase::validation, Phase::test}) {
        PhaseLosses losses{.phase = phase, .baselines = best.task->baselines(phase)};
        if (losses.baselines.empty()) continue;
        evolve::Evaluator evaluator(*best.backend, *best.task, best.seed, best.family);
        const std::array<const evolve::Genome*, 1> genomes{&best.file.genome};
        const evolve::Evaluation result =
            evaluator.evaluate(genomes, {phase, unseen_round}).front();
        losses.loss = result.status == evolve::Status::ok
                          ? -result.fitness
                          : std::numeric_limits<double>::quiet_NaN();
        findings.losses.push_back(std::move(losses));
    }
}

void find_replay(const RunData& run, const BestRun& best, Findings& findings) {
    if (!evolve::is_visible(*best.task)) {
        findings.notes.push_back(
            fmt::format("No replay: {} does not draw itself.",
                        best.task->signature().time
                            ? fmt::format("task {}", best.task->type())
                            : fmt::format("task {} has no episodes and", best.task->type())));
        return;
    }
    const std::unique_ptr<evolve::Task> fewer = best.task->with_episodes(replayed_episodes);
    const evolve::Task& task = fewer ? *fewer : *best.task;
    const Phase phase = task.signature().validates ? Phase::validation : Phase::train;
    auto episode = evolve::best_episode({*best.backend, task, best.seed, best.family},
                                        best.file.genome, {phase, unseen_round}, max_replay_steps);
    if (!episode) return;
    findings.replay =
        Replay{.episode = std::move(*episode),
               .phase = std::string(evolve::name(phase)),
               .seed = best.seed,
               .command = fmt::format(
                   "cambrian evaluate {}{}", shell_word((run.directory / "best.cmb").string()),
                   fewer ? fmt::format(" --episodes {}", replayed_episodes) : std::string())};
}

void find_kept(const CommandContext& context, const RunData& run, Findings& findings) {
    const fs::path checkpoint = run.directory / "checkpoint.cmb";
    if (!fs::exists(checkpoint) || too_large(findings, no_prices, checkpoint, largest_checkpoint))
        return;
    const std::shared_ptr<const Json> config = read_config(run.directory / "config.json", {}).json;
    if (const auto task = config->find("task"); task != config->end()) refuse_program(*task);
    const CheckpointMembers kept = read_checkpoint_members(context, run.directory.string());
    const evolve::Variation variation(kept.experiment.seed, kept.experiment.variation);
    std::span<const evolve::Member> members = kept.members;
    if (variation.develops() && members.size() > max_developed) {
        findings.notes.push_back(fmt::format(
            "Prices of the networks in the checkpoint: of the {} fittest of {} alone, as "
            "each develops.",
            max_developed, members.size()));
        members = members.first(max_developed);
    }
    for (const evolve::Member& member : members) {
        const NetworkSummary counts = summary(Network(kept.network(member, variation).blueprint));
        findings.kept.push_back({.fitness = member.fitness,
                                 .parameters = static_cast<double>(counts.total.parameters),
                                 .bytes = static_cast<double>(counts.stored_bytes),
                                 .products = static_cast<double>(counts.products)});
    }
}

}  // namespace

Findings findings_of(const CommandContext& context, const RunData& run) {
    Findings findings;
    find_ancestry(run, findings);
    if (!run.best) {
        findings.notes.emplace_back("No best network: there is no best.cmb yet.");
        return findings;
    }
    attempt(findings, "No replay", [&] {
        const BestRun best = best_run_of(context, run);
        attempt(findings, "No losses beside baselines", [&] { find_losses(best, findings); });
        attempt(findings, "No replay", [&] { find_replay(run, best, findings); });
    });
    attempt(findings, no_prices, [&] { find_kept(context, run, findings); });
    return findings;
}

}  // namespace cambrian::launch
