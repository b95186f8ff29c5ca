#pragma once

#include <memory>
#include <string_view>

#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/evolve/variation/neat/neat_settings.hpp"

namespace cambrian::evolve {

/// Genes are neurons and connections (Stanley and Miikkulainen 2002), in each layer of neurons that
/// the network of a config has; other layers keep their structure.
/// @param settings that were checked.
[[nodiscard]] std::shared_ptr<const GenomeKind> make_neat(NeatSettings settings,
                                                          const GenomeContext& context);

/// Throws ConfigError for settings that contradict each other, or another section of a config.
/// @param type what genome.type is: a kind whose genes change as those of NEAT.
void check(const NeatSettings& settings, const GenomeContext& context, std::string_view type);

}  // namespace cambrian::evolve
