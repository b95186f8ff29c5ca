#pragma once

#include <nlohmann/json.hpp>

#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/train/source.hpp"

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

}  // namespace cambrian::test
