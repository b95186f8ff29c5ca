#include <fmt/format.h>

#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/packed_weights.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/evaluation/host_population.hpp"
#include "cambrian/evolve/evaluation/inference.hpp"
#include "cambrian/evolve/tasks/task_tensors.hpp"

namespace cambrian::evolve {
namespace {

/// @param form the network itself, or what watches it.
Inference inference(const Network& network, const ForwardModel& form, const Genome& genome,
                    std::span<const float> inputs, std::int64_t batch, std::int64_t time) {
    const std::int64_t width = network.input_features();
    const Shape shape = time > 0 ? Shape{batch, time, width} : Shape{batch, width};
    if (batch < 1 || time < 0 || shape.elements() != static_cast<std::int64_t>(inputs.size()))
        throw InputError(fmt::format(
            "{} input values (the network reads {} in a row: {} expected for shape {}) pass whole "
            "rows",
            inputs.size(), width, shape.elements(), shape.text()));

    Inference result;
    const NetworkOperands operands = result.add(network, genome);
    const Var rows = result.add(
        "rows", Tensor(ValueType::real, shape, std::vector<double>(inputs.begin(), inputs.end())));
    result.graph.output(time > 0 ? form.sequence(rows, operands)
                                 : stateless_outputs(form, rows, operands));
    return result;
}

}  // namespace

Var Inference::add(const std::string& name, Tensor value) {
    values.push_back(std::move(value));
    return graph.input(name, values.back().type, values.back().shape);
}

NetworkOperands Inference::add(const Network& network, const Genome& genome) {
    const EvaluatedOperands own = evaluated_operands(network, genome.weights);
    const Var weights =
        add("weights", Tensor(ValueType::real, Shape{static_cast<std::int64_t>(own.weights.size())},
                              std::vector<double>(own.weights.begin(), own.weights.end())));
    const Var activations = add("activations", code_operand(ValueType::integer, own.activations));
    const Var enabled = add("enabled", code_operand(ValueType::boolean, network.enabled_flags()));
    return {
        .weights = weights, .activations = activations, .enabled = enabled, .packed = own.packed};
}

std::vector<Var> Inference::add(const std::string& name, std::vector<Tensor> tensors) {
    std::vector<Var> result;
    for (Tensor& tensor : tensors)
        result.push_back(add(fmt::format("{}.{}", name, result.size()), std::move(tensor)));
    return result;
}

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

std::optional<double> accuracy(Backend& backend, const Task& task, const Genome& genome,
                               std::uint64_t seed, const EvaluationRound& round) {
    if (task.signature().host) return std::nullopt;
    const Network network(genome.blueprint);
    Inference pass;
    const NetworkOperands operands = pass.add(network, genome);
    const std::vector<Var> data = pass.add("data", data_of(task, round.phase));
    const std::vector<Var> draws =
        pass.add("draws", draws_of(task, round.phase, seed, round.round));
    const Objective objective =
        task.build({pass.graph, network, operands, data, draws}, round.phase);
    if (!objective.accuracy) return std::nullopt;
    require_output(task, pass.graph, "accuracy", *objective.accuracy, ValueType::real, 0);
    pass.graph.output(*objective.accuracy);
    return cambrian::evaluate(backend, pass.graph, 1, pass.values)[0].elements[0];
}

}  // namespace cambrian::evolve
