#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/distributed/experiment.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/launch/commands/commands.hpp"

namespace cambrian::launch {

/// Those that a checkpoint keeps (parents, and who is carried over), with different genomes, the
/// fittest first.
struct CheckpointMembers {
    std::filesystem::path run;
    std::filesystem::path path;  ///< Of the checkpoint.
    distributed::Experiment experiment;
    std::shared_ptr<const evolve::Strategy> strategy{};
    distributed::Checkpoint checkpoint{};
    std::vector<evolve::Member> members{};

    /// Throws InputError where the checkpoint lacks the genome of a member.
    [[nodiscard]] evolve::Genome genome(const evolve::Member& member) const;
    /// What it answers with: where genotypes develop, the network that it grows into.
    [[nodiscard]] evolve::Genome network(const evolve::Member& member,
                                         const evolve::Variation& variation) const;
    /// What a file of it holds; a genotype where these develop.
    [[nodiscard]] distributed::NetworkFile file(const evolve::Member& member) const;
};

/// Of a checkpoint, or of the newest one of the directory of a run. Throws InputError where there
/// is none, or a program asks for the run's networks.
[[nodiscard]] CheckpointMembers read_checkpoint_members(const CommandContext& context,
                                                        const std::string& path);

/// Throws InputError where a checkpoint of which networks are asked for has none.
void require_members(std::size_t members, const std::string& path);

}  // namespace cambrian::launch
