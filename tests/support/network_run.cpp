#include "cambrian/tests/support/network_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cambrian/engine/reference/reference.hpp"

namespace cambrian::test {

namespace {

std::vector<Tensor> operand_values(const Network& network, std::span<const float> weights) {
    const std::vector<std::int32_t> codes = network.activation_codes();
    const std::vector<std::int32_t> flags = network.enabled_flags();
    return {Tensor(ValueType::real, {network.weight_count()}, {weights.begin(), weights.end()}),
            Tensor(ValueType::integer, {static_cast<std::int64_t>(codes.size())},
                   {codes.begin(), codes.end()}),
            Tensor(ValueType::boolean, {static_cast<std::int64_t>(flags.size())},
                   {flags.begin(), flags.end()})};
}

NetworkOperands operand_inputs(Graph& graph, const std::vector<Tensor>& values) {
    return {.weights = graph.input("weights", ValueType::real, values[0].shape),
            .activations = graph.input("activations", ValueType::integer, values[1].shape),
            .enabled = graph.input("enabled", ValueType::boolean, values[2].shape)};
}

/// Builds with build(x, operands) and evaluates.
template <class Build>
Tensor evaluate_network(const Network& network, std::span<const float> weights, const Tensor& x,
                        Build build) {
    std::vector<Tensor> values = operand_values(network, weights);
    Graph graph;
    const NetworkOperands operands = operand_inputs(graph, values);
    graph.output(build(graph.input("x", ValueType::real, x.shape), operands));
    verify(graph);
    values.push_back(x);
    return evaluate(*make_reference_backend(Precision::f64), graph, 1, values).front();
}

}  // namespace

Blueprint blueprint_of(std::string_view json, std::int64_t input_features,
                       std::int64_t output_features) {
    return blueprint_from_json(nlohmann::json::parse(json), input_features, output_features);
}

std::vector<float> some_weights(const Network& network) {
    std::vector<float> weights(static_cast<std::size_t>(network.weight_count()));
    RandomField{random_key(7, "test weights")}.fill_normal(0, weights);
    return weights;
}

Tensor some_rows(std::vector<std::int64_t> extents, std::uint64_t seed) {
    Tensor tensor(ValueType::real, Shape(std::span<const std::int64_t>(extents)));
    RandomStream stream(random_key(seed, "test rows"), 0);
    for (double& element : tensor.elements) element = static_cast<double>(stream.normal());
    return tensor;
}

Tensor run(const Network& network, std::span<const float> weights, const Tensor& x) {
    return evaluate_network(network, weights, x, [&](Var input, const NetworkOperands& operands) {
        return network.apply(input, operands);
    });
}

Tensor run_sequence(const Network& network, std::span<const float> weights, const Tensor& x) {
    return evaluate_network(network, weights, x, [&](Var input, const NetworkOperands& operands) {
        return network.sequence(input, operands);
    });
}

Tensor run_steps(const Network& network, std::span<const float> weights, const Tensor& x) {
    return evaluate_network(network, weights, x, [&](Var input, const NetworkOperands& operands) {
        const std::int64_t batch = x.shape[0];
        std::vector<Var> state = network.initial_state(*input.graph, batch);
        std::vector<Var> outputs;
        for (std::int64_t t = 0; t < x.shape[1]; ++t) {
            const Var row = reshape(slice(input, 1, t, 1), {batch, x.shape[2]});
            StepResult result = network.step(row, state, operands);
            outputs.push_back(result.output);
            state = std::move(result.state);
        }
        return permute(stack(outputs), {1, 0, 2});
    });
}

double difference(const Tensor& a, const Tensor& b) {
    if (a.shape != b.shape) return std::numeric_limits<double>::infinity();
    double largest = 0.0;
    for (std::size_t i = 0; i < a.elements.size(); ++i) {
        const double distance = std::abs(a.elements[i] - b.elements[i]);
        largest = distance <= largest ? largest : distance;  // NaN becomes the largest
    }
    return largest;
}

std::size_t range_named(const Network& network, std::string_view name) {
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        if (network.weight_name(i) == name) return i;
    }
    throw std::out_of_range("the network has no weights of that name");
}

void fill(std::vector<float>& weights, const Network& network, std::string_view name, float value) {
    const WeightRange& range = network.weights()[range_named(network, name)];
    std::fill_n(weights.begin() + range.offset, range.count, value);
}

}  // namespace cambrian::test
