#include "cambrian/launch/commands/checkpoint_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/runs/run_directory.hpp"
#include "cambrian/launch/config/config_differences.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/network_reader.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// A checkpoint and the run that it is of.
struct Source {
    fs::path run;
    fs::path checkpoint;
};

Source source_of(const std::string& path) {
    std::error_code error;
    const bool directory = fs::is_directory(path, error);
    Source source{directory ? fs::path(path) : fs::path(path).parent_path(),
                  directory ? fs::path(path) / distributed::newest_checkpoint : fs::path(path)};
    if (source.run.empty()) source.run = ".";
    if (!fs::exists(source.checkpoint, error))
        throw InputError(fmt::format(
            "{} is not there (no run has written a checkpoint there) name the directory of a run, "
            "or one of its checkpoints",
            source.checkpoint.string()));
    return source;
}

/// Members with different genomes, the fittest first.
std::vector<evolve::Member> different_members(const evolve::Strategy& strategy) {
    const auto pool = strategy.parent_pool();
    std::vector<evolve::Member> members(pool.begin(), pool.end());
    std::ranges::sort(members, evolve::fitter);
    std::set<evolve::BirthId> seen;
    std::erase_if(members,
                  [&](const evolve::Member& member) { return !seen.insert(member.origin).second; });
    return members;
}

}  // namespace

evolve::Genome CheckpointMembers::genome(const evolve::Member& member) const {
    const auto found = checkpoint.genomes.find(member.origin);
    if (found == checkpoint.genomes.end())
        throw InputError(
            fmt::format("{} holds no genome of birth {} (it contradicts itself) use an older one",
                        path.string(), member.birth));
    return evolve::genome_of(*found->second);
}

evolve::Genome CheckpointMembers::network(const evolve::Member& member,
                                          const evolve::Variation& variation) const {
    evolve::Genome own = genome(member);
    return variation.develops() ? genome_of(variation.develop(evolve::Individual(std::move(own))))
                                : own;
}

distributed::NetworkFile CheckpointMembers::file(const evolve::Member& member) const {
    distributed::NetworkFile file;
    file.genome = genome(member);
    file.identity_json = experiment.identity_json;
    file.generation =
        strategy->members_stay() ? member.birth / strategy->births() : checkpoint.generation - 1;
    file.birth = member.birth;
    file.fitness = member.fitness;
    file.preparation = experiment.task_at(file.generation)->preparation();
    return file;
}

CheckpointMembers read_checkpoint_members(const CommandContext& context, const std::string& path) {
    const Source source = source_of(path);
    // Its task is made of what the program says.
    if (asked_by_program(source.run))
        throw InputError(
            fmt::format("the checkpoints of {} cannot be read (a program judges its networks, with "
                        "cambrian.Evolution) use its best.cmb",
                        source.run.string()));
    const Schema schema(context.tasks, context.genomes);
    std::vector<Difference> unchanged;
    const ResolvedConfig config = read_resumed(source.run, {}, schema, unchanged);
    const evolve::TaskSchedule tasks = make_tasks(config, context.tasks);
    CheckpointMembers result{.run = source.run,
                             .path = source.checkpoint,
                             .experiment = make_experiment(
                                 config, schema, tasks,
                                 make_founder(config, *tasks.first, IdleFormats::kept, source.run),
                                 Purpose::evaluate, context.strategies, context.genomes)};
    result.checkpoint =
        distributed::decode_checkpoint(read_file(source.checkpoint), source.checkpoint.string());
    result.strategy = evolve::state_of(*distributed::make_strategy(result.experiment),
                                       result.checkpoint.strategy);
    result.members = different_members(*result.strategy);
    return result;
}

void require_members(std::size_t members, const std::string& path) {
    if (members == 0)
        throw InputError(fmt::format(
            "{} holds no network (it was written before anything was told, or at a restart) use "
            "another checkpoint of the run",
            path));
}

}  // namespace cambrian::launch
