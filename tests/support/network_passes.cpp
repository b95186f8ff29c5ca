#include "cambrian/tests/support/network_passes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

namespace cambrian::test {

namespace {

Tensor codes(ValueType type, const std::vector<std::int32_t>& values) {
    return {type, {static_cast<std::int64_t>(values.size())}, {values.begin(), values.end()}};
}

/// Evaluates build(x, operands) with the network's genes as constants.
template <class Build>
Tensor evaluate_pass(Backend& backend, const Network& network, std::span<const float> weights,
                     const Tensor& x, const Build& build) {
    Graph graph;
    const Var input = graph.input("x", ValueType::real, x.shape);
    const NetworkOperands operands{
        .weights = graph.input("weights", ValueType::real, {network.weight_count()}),
        .activations = graph.constant(codes(ValueType::integer, network.activation_codes())),
        .enabled = graph.constant(codes(ValueType::boolean, network.enabled_flags()))};
    graph.output(build(input, operands));
    const std::array values{
        x, Tensor(ValueType::real, {network.weight_count()}, {weights.begin(), weights.end()})};
    return evaluate(backend, graph, 1, values).front();
}

}  // namespace

Tensor infer(Backend& backend, const Network& network, std::span<const float> weights,
             const Tensor& x) {
    return evaluate_pass(backend, network, weights, x,
                         [&](Var input, const NetworkOperands& operands) {
                             return network.sequence(input, operands);
                         });
}

Tensor train_gradient(Backend& backend, const Network& network, std::span<const float> weights,
                      const Tensor& x) {
    return evaluate_pass(
        backend, network, weights, x, [&](Var input, const NetworkOperands& operands) {
            Graph& graph = *input.graph;
            TrainingPass pass(graph.constant(Tensor(ValueType::integer, {2}, {3.0, 5.0})),
                              graph.constant(Tensor::scalar(7.0, ValueType::integer)));
            NetworkOperands training = operands;
            training.training = &pass;
            const Var loss = mean_all(square(network.sequence(input, training)));
            const std::array wanted{operands.weights};
            return gradient(loss, wanted).front();
        });
}

std::vector<float> start_weights(const Network& network, std::uint64_t seed) {
    RandomStream rng(random_key(seed, "test start"), 0);
    return network.initial_weights(rng);
}

Tensor some_inputs(const Network& network, std::int64_t rows, std::int64_t time,
                   std::int64_t vocabulary) {
    Tensor x(ValueType::real, {rows, time, network.input_features()});
    RandomStream rng(random_key(2, "test inputs"), 0);
    for (double& element : x.elements)
        element = vocabulary > 0
                      ? static_cast<double>(rng.index(static_cast<std::uint32_t>(vocabulary)))
                      : static_cast<double>(rng.normal());
    return x;
}

bool all_finite(const Tensor& tensor) {
    return std::ranges::all_of(tensor.elements, [](double x) { return std::isfinite(x); });
}

Blueprint through_json(const Blueprint& blueprint) {
    return blueprint_from_json(nlohmann::json::parse(network_section(blueprint).dump()));
}

Blueprint through_archive(const Blueprint& blueprint) {
    ArchiveWriter writer;
    writer.write(blueprint);
    const std::vector<std::byte> bytes = writer.take();
    ArchiveReader reader(bytes, "bytes");
    Blueprint copy;
    reader.read(copy);
    reader.finish();
    return copy;
}

}  // namespace cambrian::test
