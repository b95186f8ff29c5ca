#pragma once

#include <optional>
#include <string>

#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"

namespace cambrian::launch {

/// A network that a config describes.
struct NetworkSource {
    Blueprint blueprint;
    std::string identity_json;  ///< Of the config; empty when it names no task.
    std::optional<evolve::Preparation> preparation;  ///< Of its task.
};

/// Reads a config of evolution or training, whose task tells the widths, or one with nothing but a
/// network section that tells them itself (cambrian convert writes such). Throws ConfigError,
/// ShapeError or InputError.
[[nodiscard]] NetworkSource network_source(const std::string& path,
                                           const evolve::TaskRegistry& tasks,
                                           const evolve::GenomeRegistry& genomes);

}  // namespace cambrian::launch
