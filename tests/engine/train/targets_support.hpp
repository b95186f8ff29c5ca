#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/train/targets.hpp"
#include "cambrian/engine/train/trainer.hpp"

// Small networks and rows for trainings by targets.
namespace cambrian::targets_support {

inline constexpr auto chain_rule = TrainingMethod::target_propagation;
inline constexpr auto difference = TrainingMethod::difference_target_propagation;

inline nlohmann::json tanh_chain(std::initializer_list<int> widths) {
    nlohmann::json layers = nlohmann::json::array();
    for (const int width : widths)
        layers.push_back({{"type", "dense"}, {"out", width}, {"activation", "tanh"}});
    layers.push_back({{"type", "dense"}});
    return layers;
}

inline Network network_of(const nlohmann::json& network, std::int64_t inputs,
                          std::int64_t outputs) {
    return Network(blueprint_from_json(network, inputs, outputs));
}

inline Tensor numbers(const Shape& shape, std::string_view purpose, double scale = 1.0) {
    Tensor result(ValueType::real, shape);
    RandomStream rng(random_key(5, purpose), 0);
    for (double& x : result.elements)
        x = scale * (static_cast<double>(uniform_from_bits(rng.bits())) - 0.5);
    return result;
}

/// Rows, or sequences of which the last step is asked or all are.
inline DataSet data_of(std::int64_t rows, std::int64_t steps, std::int64_t inputs,
                       std::int64_t outputs, bool all_steps = false) {
    DataSet data;
    data.outputs = outputs;
    data.train.inputs =
        numbers(steps == 0 ? Shape{rows, inputs} : Shape{rows, steps, inputs}, "inputs", 3.0);
    data.train.targets =
        numbers(all_steps ? Shape{rows, steps, outputs} : Shape{rows, outputs}, "targets", 2.0);
    return data;
}

/// Every row for so many steps.
inline DataSet shown_for(const DataSet& data, std::int64_t steps) {
    DataSet result = data;
    const std::int64_t rows = data.train.rows();
    const std::int64_t features = data.train.inputs.shape[1];
    result.train.inputs = Tensor(ValueType::real, {rows, steps, features});
    for (std::int64_t i = 0; i < rows * steps * features; ++i)
        result.train.inputs.elements[static_cast<std::size_t>(i)] =
            data.train.inputs.elements[static_cast<std::size_t>(i / (steps * features) * features +
                                                                i % features)];
    return result;
}

inline DataSet exclusive_or() {
    DataSet data;
    data.outputs = 1;
    data.train.inputs = Tensor(ValueType::real, {4, 2}, {-1, -1, -1, 1, 1, -1, 1, 1});
    data.train.targets = Tensor(ValueType::real, {4, 1}, {0, 1, 1, 0});
    return data;
}

inline std::vector<float> after(Backend& backend, const Network& network, const DataSet& data,
                                const TrainingSettings& settings, std::int64_t individual = 0) {
    Trainer trainer(backend, network, data, settings);
    trainer.run();
    return trainer.weights(individual);
}

inline TrainingSettings golden_settings(std::int64_t epochs) {
    return {.epochs = epochs,
            .batch = 4,
            .optimizer = Sgd{},
            .learning_rates = {0.5},
            .method = difference,
            .targets = {.step = 0.7,
                        .inverse_learning_rate = 0.3,
                        .inverse_noise = 0.0,
                        .inverse_activation = Activation::tanh}};
}

}  // namespace cambrian::targets_support
