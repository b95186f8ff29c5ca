#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/engine/train/trainer.hpp"

// Small trainings on generated rows.
namespace cambrian::test {

inline DataSet data_of(const nlohmann::json& source, const Loss& loss, const Split& split = {}) {
    return make_data_set(read_source(source, "source", {}), split, loss, 1);
}

inline Network network_of(const nlohmann::json& layers, const DataSet& data) {
    return Network(blueprint_from_json(nlohmann::json{{"layers", layers}},
                                       data.train.inputs.shape[-1], data.outputs));
}

inline nlohmann::json tanh_layers(int width, int count) {
    nlohmann::json layers = nlohmann::json::array();
    for (int i = 0; i < count; ++i)
        layers.push_back({{"type", "dense"}, {"out", width}, {"activation", "tanh"}});
    layers.push_back({{"type", "dense"}});
    return layers;
}

/// Every weight of every individual after some training.
inline std::vector<std::vector<float>> trained(Backend& backend, const Network& network,
                                               const DataSet& data,
                                               const TrainingSettings& settings) {
    Trainer trainer(backend, network, data, settings);
    trainer.run();
    std::vector<std::vector<float>> result;
    for (std::int64_t i = 0; i < trainer.individuals(); ++i) {
        result.push_back(trainer.weights(i));
        result.push_back(trainer.weights(i, Snapshot::best));
    }
    return result;
}

}  // namespace cambrian::test
