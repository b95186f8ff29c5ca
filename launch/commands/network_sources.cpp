#include "cambrian/launch/commands/network_sources.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/runs/network_codes.hpp"
#include "cambrian/launch/commands/checkpoint_members.hpp"

namespace cambrian::launch {

namespace fs = std::filesystem;

bool is_checkpoint(const std::string& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) return true;
    if (fs::path(path).extension() == ".safetensors") return false;  // And may be large.
    try {
        return decode_container(read_file(path), path, {}).kind == "checkpoint";
    } catch (const InputError&) {
        return false;  // who reads it as a network says what is wrong with it
    }
}

std::string member_name(const std::string& source, evolve::BirthId birth) {
    return fmt::format("{}: birth {}", source, birth);
}

std::vector<SourceNetwork> read_source_networks(const CommandContext& context,
                                                const std::vector<std::string>& sources,
                                                std::uint64_t elites) {
    std::vector<SourceNetwork> all;
    for (const std::string& source : sources) {
        if (!is_checkpoint(source)) {
            all.push_back({source, source, distributed::read_to_answer(source)});
            continue;
        }
        const CheckpointMembers members = read_checkpoint_members(context, source);
        const evolve::Variation variation(members.experiment.seed, members.experiment.variation);
        std::uint64_t taken = 0;
        for (const evolve::Member& member : members.members) {
            if (elites > 0 && taken++ == elites) break;
            distributed::NetworkFile file = members.file(member);
            file.genome = members.network(member, variation);
            all.push_back(
                {member_name(source, member.birth), members.path.string(), std::move(file)});
        }
    }
    return all;
}

}  // namespace cambrian::launch
