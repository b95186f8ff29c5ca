#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/commands/commands.hpp"

namespace cambrian::launch {

/// A network, wherever it is from.
struct SourceNetwork {
    std::string name;  ///< Its file, or "runs/xor-1: birth 57".
    std::string path;  ///< Its file, or the checkpoint that it is in.
    distributed::NetworkFile file;
};

/// Whether a path is a checkpoint, or the directory of a run, which stands for its newest one.
[[nodiscard]] bool is_checkpoint(const std::string& path);

/// What a network of a checkpoint is called among those of several sources.
[[nodiscard]] std::string member_name(const std::string& source, evolve::BirthId birth);

/// The networks of files, and those that checkpoints keep (parents, and who is carried over), with
/// different genomes, the fittest first, as networks where genotypes develop.
/// @param elites at most so many of each checkpoint; 0: all.
[[nodiscard]] std::vector<SourceNetwork> read_source_networks(
    const CommandContext& context, const std::vector<std::string>& sources, std::uint64_t elites);

}  // namespace cambrian::launch
