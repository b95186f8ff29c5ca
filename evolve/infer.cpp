#include <fmt/format.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/evaluator.hpp"
#include "cambrian/evolve/host_population.hpp"

namespace cambrian::evolve {
namespace {

Tensor integers(ValueType type, std::vector<std::int32_t> values) {
    // Networks without activations or slots still have operands of one element.
    if (values.empty()) values.push_back(0);
    return {type, Shape{static_cast<std::int64_t>(values.size())},
            std::vector<double>(values.begin(), values.end())};
}

}  // namespace

std::vector<float> infer(Backend& backend, const Genome& genome, std::span<const float> inputs,
                         std::int64_t batch, std::int64_t time) {
    const Network network(genome.blueprint);
    const std::int64_t width = genome.blueprint.input_features;
    const Shape shape = time > 0 ? Shape{batch, time, width} : Shape{batch, width};
    if (batch < 1 || time < 0 || shape.elements() != static_cast<std::int64_t>(inputs.size()))
        throw InputError(fmt::format(
            "{} input values (the network reads {} in a row: {} expected for shape {}) pass whole "
            "rows",
            inputs.size(), width, shape.elements(), shape.text()));

    const std::vector<Tensor> values{
        Tensor(ValueType::real, Shape{network.weight_count()},
               std::vector<double>(genome.weights.begin(), genome.weights.end())),
        integers(ValueType::integer, network.activation_codes()),
        integers(ValueType::boolean, network.enabled_flags()),
        Tensor(ValueType::real, shape, std::vector<double>(inputs.begin(), inputs.end()))};
    Graph graph;
    const NetworkOperands operands{
        .weights = graph.input("weights", values[0].type, values[0].shape),
        .activations = graph.input("activations", values[1].type, values[1].shape),
        .enabled = graph.input("enabled", values[2].type, values[2].shape)};
    const Var rows = graph.input("rows", values[3].type, values[3].shape);
    graph.output(time > 0 ? network.sequence(rows, operands)
                          : stateless_outputs(network, rows, operands));

    const std::vector<Tensor> outputs = cambrian::evaluate(backend, graph, 1, values);
    return {outputs[0].elements.begin(), outputs[0].elements.end()};
}

}  // namespace cambrian::evolve
