#include "cambrian/evolve/tasks/external/network_message.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/network/weight_formats.hpp"

namespace cambrian::evolve {

nlohmann::ordered_json network_message(const Genome& genome, std::size_t place,
                                       std::optional<BirthId> individual, ExternalFrames frames) {
    const Network network(genome.blueprint);
    const std::vector<float> weights = evaluated_weights(network, genome.weights);
    nlohmann::ordered_json message{{"network", place}};
    if (individual) message["individual"] = *individual;
    message["structure"] = to_json(network.blueprint());
    nlohmann::ordered_json& tensors = message["tensors"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const WeightRange& range = network.weights()[i];
        const auto values = std::span(weights).subspan(static_cast<std::size_t>(range.offset),
                                                       static_cast<std::size_t>(range.count));
        tensors.push_back({{"name", network.weight_name(i)},
                           {"shape", range.parameter.shape.extents()},
                           {"values", external_messages::list(values, frames)}});
    }
    return message;
}

}  // namespace cambrian::evolve
