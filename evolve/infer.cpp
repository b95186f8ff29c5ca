#include <fmt/format.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/watched_network.hpp"
#include "cambrian/evolve/evaluator.hpp"
#include "cambrian/evolve/host_population.hpp"
#include "cambrian/evolve/observe.hpp"

namespace cambrian::evolve {
namespace {

Tensor integers(ValueType type, std::vector<std::int32_t> values) {
    // Networks without activations or slots still have operands of one element.
    if (values.empty()) values.push_back(0);
    return {type, Shape{static_cast<std::int64_t>(values.size())},
            std::vector<double>(values.begin(), values.end())};
}

/// A pass over rows as a graph, and its inputs.
struct Inference {
    Graph graph;
    std::vector<Tensor> values;
};

/// @param form the network itself, or what watches it.
Inference inference(const Network& network, const NetworkForm& form, const Genome& genome,
                    std::span<const float> inputs, std::int64_t batch, std::int64_t time) {
    const std::int64_t width = network.input_features();
    const Shape shape = time > 0 ? Shape{batch, time, width} : Shape{batch, width};
    if (batch < 1 || time < 0 || shape.elements() != static_cast<std::int64_t>(inputs.size()))
        throw InputError(fmt::format(
            "{} input values (the network reads {} in a row: {} expected for shape {}) pass whole "
            "rows",
            inputs.size(), width, shape.elements(), shape.text()));

    Inference result;
    result.values = {
        Tensor(ValueType::real, Shape{network.weight_count()},
               std::vector<double>(genome.weights.begin(), genome.weights.end())),
        integers(ValueType::integer, network.activation_codes()),
        integers(ValueType::boolean, network.enabled_flags()),
        Tensor(ValueType::real, shape, std::vector<double>(inputs.begin(), inputs.end()))};
    const auto input = [&](const char* name, std::size_t index) {
        return result.graph.input(name, result.values[index].type, result.values[index].shape);
    };
    const NetworkOperands operands{.weights = input("weights", 0),
                                   .activations = input("activations", 1),
                                   .enabled = input("enabled", 2)};
    const Var rows = input("rows", 3);
    result.graph.output(time > 0 ? form.sequence(rows, operands)
                                 : stateless_outputs(form, rows, operands));
    return result;
}

}  // namespace

std::vector<float> infer(Backend& backend, const Genome& genome, std::span<const float> inputs,
                         std::int64_t batch, std::int64_t time) {
    const Network network(genome.blueprint);
    const Inference pass = inference(network, network, genome, inputs, batch, time);
    const std::vector<Tensor> outputs = cambrian::evaluate(backend, pass.graph, 1, pass.values);
    return {outputs[0].elements.begin(), outputs[0].elements.end()};
}

std::vector<Observation> observe(Backend& backend, const Genome& genome,
                                 std::span<const float> inputs, std::int64_t batch,
                                 std::int64_t time) {
    constexpr std::string_view prefix = "observed.";
    const Network network(genome.blueprint);
    const Inference pass =
        inference(network, WatchedNetwork(network, prefix), genome, inputs, batch, time);
    const ObservedGraph observed(pass.graph, network, prefix);
    return observed.read(1, 1, cambrian::evaluate(backend, observed.graph(), 1, pass.values));
}

}  // namespace cambrian::evolve
