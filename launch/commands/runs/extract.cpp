#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/commands/checkpoint_members.hpp"
#include "cambrian/launch/commands/commands.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// A network to be written.
struct Extract {
    std::string name;  ///< Of its file.
    evolve::Member member;
};

std::vector<Extract> elites(const CheckpointMembers& source, std::uint64_t count) {
    if (count > source.members.size())
        throw ConfigError(
            fmt::format("--elite is {} ({} keeps {} networks) ask for as many or fewer", count,
                        source.path.string(), source.members.size()));
    std::vector<Extract> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back({fmt::format("elite-{}.cmb", i + 1), source.members[i]});
    return all;
}

std::vector<Extract> species_champions(const CheckpointMembers& source) {
    const evolve::Strategy& strategy = *source.strategy;
    if (strategy.kinship().empty())
        throw ConfigError(fmt::format(
            "--species-champions is given (strategy.type is \"{}\", which has no species) use "
            "--elite, or a run of another strategy",
            source.experiment.strategy));
    std::vector<Extract> all;
    for (const evolve::SpeciesSummary& one : strategy.species())
        if (one.champion) {
            const std::string island =
                source.experiment.islands.count > 1 ? fmt::format("{}-", one.island) : "";
            all.push_back({fmt::format("species-{}{}.cmb", island, one.id),
                           strategy.parent_pool()[evolve::index_of(*one.champion)]});
        }
    if (all.empty())
        throw InputError(
            fmt::format("{} has no living species (they have died out, or nothing has been told "
                        "yet) use another checkpoint",
                        source.path.string()));
    return all;
}

fs::path made_folder(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error)
        throw OutputError(fmt::format("{} cannot be made ({}) name another place with -o",
                                      path.string(), error.message()));
    return path;
}

}  // namespace

int extract_command(const CommandContext& context, const ExtractOptions& options) {
    const CheckpointMembers source = read_checkpoint_members(context, options.run);
    require_members(source.members.size(), source.path.string());
    const std::vector<Extract> extracts =
        options.species_champions ? species_champions(source) : elites(source, options.elite);
    const char* own = options.species_champions ? "species" : "elites";
    const fs::path folder =
        made_folder(options.output.empty() ? source.run / own : fs::path(options.output));
    const evolve::Variation variation(source.experiment.seed, source.experiment.variation);
    const fs::path genotypes = folder / "genotypes";
    if (variation.develops()) made_folder(genotypes);
    for (const auto& [name, member] : extracts) {
        const distributed::NetworkFile file = source.file(member);
        const fs::path path = folder / name;
        distributed::write_networks(path, genotypes / name, file, variation);
        context.out << fmt::format("{}: fitness {:.6g}, birth {} made by {}, {} weights\n",
                                   path.string(), member.fitness, member.birth, member.origin,
                                   file.genome.weights.size());
    }
    if (source.experiment.learning.mode == evolve::LearningMode::baldwinian)
        context.out << "  learning is baldwinian: a fitness is that after learning, weights are "
                       "those that children inherit, from before it\n";
    return exit_done;
}

}  // namespace cambrian::launch
