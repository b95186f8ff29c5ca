#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cambrian/launch/config/experiment_reader.hpp"

namespace cambrian::launch {

/// What a config of an evolution sets that nothing reads, since another key says so: a note for
/// each section, with its keys that are not what they are by default.
/// @param variation of which the networks of founders are looked at.
[[nodiscard]] std::vector<std::string> vain_settings(const ResolvedConfig& config,
                                                     const Schema& schema,
                                                     const evolve::VariationSettings& variation);

/// A note where layers are to be inserted and no network of the run ever has an empty slot. For an
/// experiment whose islands are read.
[[nodiscard]] std::optional<std::string> vain_insertion(const ResolvedConfig& config,
                                                        const distributed::Experiment& experiment);

/// Notes where mutation.layers, or that of an island, gives fields to a type that no new layer is
/// of. For an experiment whose islands are read.
[[nodiscard]] std::vector<std::string> vain_fields(const ResolvedConfig& config,
                                                   const distributed::Experiment& experiment);

}  // namespace cambrian::launch
