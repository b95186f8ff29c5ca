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
    const CheckpointMembers source = read_checkpoint_members(context, options.run);
    const std::vector<evolve::Member>& members = source.members;
    if (options.elite > members.size())
        throw ConfigError(fmt::format(
            "--elite is {} ({} has {} networks that may become parents) ask for as many or fewer",
            options.elite, source.path.string(), members.size()));
    const fs::path folder =
        made_folder(options.output.empty() ? source.run / "elites" : fs::path(options.output));
    for (std::size_t i = 0; i < options.elite; ++i) {
        const evolve::Member& member = members[i];
        distributed::NetworkFile file;
        file.genome = source.genome(member);
        file.identity_json = source.experiment.identity_json;
        file.generation = source.strategy->members_stay() ? member.birth / source.strategy->births()
                                                          : source.checkpoint.generation - 1;
        file.birth = member.birth;
        file.fitness = member.fitness;
        file.preparation = source.experiment.task->preparation();
        const fs::path path = folder / fmt::format("elite-{}.cmb", i + 1);
        distributed::write_network(path, file);
        context.out << fmt::format("{}: fitness {:.6g}, birth {} made by {}, {} weights\n",
                                   path.string(), member.fitness, member.birth, member.origin,
                                   file.genome.weights.size());
    }
    return exit_done;
}

}  // namespace cambrian::launch
