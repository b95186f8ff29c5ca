#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <vector>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/distributed/experiment.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/runs/run_directory.hpp"
#include "cambrian/launch/commands/commands.hpp"
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

/// A network to be written.
struct Extract {
    std::string name;  ///< Of its file.
    evolve::Member member;
};

std::vector<Extract> elites(const evolve::Strategy& strategy, std::uint64_t count,
                            const Source& source) {
    const std::vector<evolve::Member> members = different_members(strategy);
    if (count > members.size())
        throw ConfigError(fmt::format(
            "--elite is {} ({} has {} networks that may become parents) ask for as many or fewer",
            count, source.checkpoint.string(), members.size()));
    std::vector<Extract> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back({fmt::format("elite-{}.cmb", i + 1), members[i]});
    return all;
}

std::vector<Extract> species_champions(const distributed::Experiment& experiment,
                                       const evolve::Strategy& strategy, const Source& source) {
    if (strategy.kinship().empty())
        throw ConfigError(fmt::format(
            "--species-champions is given (strategy.type is \"{}\", which has no species) use "
            "--elite, or a run of another strategy",
            experiment.strategy));
    std::vector<Extract> all;
    for (const evolve::SpeciesSummary& one : strategy.species())
        if (one.champion) {
            const std::string island =
                experiment.islands.count > 1 ? fmt::format("{}-", one.island) : "";
            all.push_back({fmt::format("species-{}{}.cmb", island, one.id),
                           strategy.parent_pool()[evolve::index_of(*one.champion)]});
        }
    if (all.empty())
        throw InputError(
            fmt::format("{} has no living species (they have died out, or nothing has been told "
                        "yet) use another checkpoint",
                        source.checkpoint.string()));
    return all;
}

fs::path made_folder(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error)
        throw ConfigError(fmt::format("{} cannot be made ({}) name another place with -o",
                                      path.string(), error.message()));
    return path;
}

}  // namespace

int extract_command(const CommandContext& context, const ExtractOptions& options) {
    const Source source = source_of(options.run);
    const Schema schema(context.tasks, context.genomes);
    std::vector<Difference> unchanged;
    const ResolvedConfig config = read_resumed(source.run, {}, schema, unchanged);
    const auto task = make_task(config, context.tasks);
    const distributed::Experiment experiment =
        make_experiment(config, schema, task, make_founder(config, *task, source.run),
                        Purpose::evaluate, context.strategies, context.genomes);
    const distributed::Checkpoint checkpoint =
        distributed::decode_checkpoint(read_file(source.checkpoint), source.checkpoint.string());
    const auto strategy = distributed::make_strategy(experiment)->load(checkpoint.strategy);
    const std::vector<Extract> extracts = options.species_champions
                                              ? species_champions(experiment, *strategy, source)
                                              : elites(*strategy, options.elite, source);
    const char* own = options.species_champions ? "species" : "elites";
    const fs::path folder =
        made_folder(options.output.empty() ? source.run / own : fs::path(options.output));
    for (const auto& [name, member] : extracts) {
        const auto genome = checkpoint.genomes.find(member.origin);
        if (genome == checkpoint.genomes.end())
            throw InputError(fmt::format(
                "{} holds no genome of birth {} (it contradicts itself) use an older one",
                source.checkpoint.string(), member.birth));
        distributed::NetworkFile file;
        file.genome = evolve::genome_of(*genome->second);
        file.identity_json = experiment.identity_json;
        file.generation = strategy->members_stay() ? member.birth / strategy->births()
                                                   : checkpoint.generation - 1;
        file.birth = member.birth;
        file.fitness = member.fitness;
        file.preparation = task->preparation();
        const fs::path path = folder / name;
        distributed::write_network(path, file);
        context.out << fmt::format("{}: fitness {:.6g}, birth {} made by {}, {} weights\n",
                                   path.string(), member.fitness, member.birth, member.origin,
                                   file.genome.weights.size());
    }
    return exit_done;
}

}  // namespace cambrian::launch
