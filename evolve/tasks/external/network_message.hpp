#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "cambrian/evolve/genome/genome.hpp"
#include "cambrian/evolve/tasks/external/external_messages.hpp"
#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::evolve {

/// A network as a program gets it: `structure` is the blueprint of `cambrian inspect --json`,
/// `tensors` by name with shape and values, which are those that it is evaluated with (rounded
/// where a layer has a format). @param place among those that are evaluated together.
[[nodiscard]] nlohmann::ordered_json network_message(const Genome& genome, std::size_t place,
                                                     std::optional<BirthId> individual,
                                                     ExternalFrames frames);

}  // namespace cambrian::evolve
