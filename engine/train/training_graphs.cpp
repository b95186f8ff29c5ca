#include "cambrian/engine/train/training_graphs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/gradient.hpp"

namespace cambrian::training_graphs {
namespace {

Var own(Graph& graph, std::string_view name, ValueType type, const Shape& shape) {
    return graph.input(name, type, shape, true);
}
Var own_number(Graph& graph, std::string_view name) {
    return own(graph, name, ValueType::real, {});
}

Var codes(Graph& graph, ValueType type, const std::vector<std::int32_t>& values) {
    // Networks without activations or slots still have operands of one element.
    Tensor tensor(type, Shape{std::max<std::int64_t>(1, static_cast<std::int64_t>(values.size()))});
    std::ranges::copy(values, tensor.elements.begin());
    return graph.constant(std::move(tensor));
}

/// What the network answers to the rows of a batch, shaped like their targets need it.
Var answers(const Network& network, const NetworkOperands& operands, Var inputs, Var targets,
            const Loss& loss) {
    if (inputs.rank() == 2) return network.apply(inputs, operands);
    const Var outputs = network.sequence(inputs, operands);
    if (targets.rank() == (wants_classes(loss) ? 2 : 3)) return outputs;
    const std::int64_t time = outputs.shape()[1];
    return reshape(slice(outputs, 1, time - 1, 1), {outputs.shape()[0], outputs.shape()[2]});
}

struct Batch {
    Var inputs;
    Var targets;
};

/// The rows of a part at these positions.
Batch rows_of(Graph& graph, const Samples& samples, std::string_view part, Var indices) {
    const auto table = [&](std::string_view what, const Tensor& tensor) {
        return gather(graph.input(fmt::format("{}.{}", part, what), tensor.type, tensor.shape),
                      indices);
    };
    const Var inputs = table("inputs", samples.inputs);
    return {inputs, table("targets", samples.targets)};
}

/// `rows` positions from the shared counter on, which moves behind them.
Var next_positions(Graph& graph, std::int64_t rows) {
    const Var position = graph.input("position", ValueType::integer, {});
    graph.update(position, position + static_cast<double>(rows));
    return position + iota(graph, rows);
}

void add_to(Graph& graph, std::string_view name, Var value) {
    const Var sum = graph.input(name, ValueType::real, {}, value.info().per_individual);
    graph.update(sum, sum + value);
}

void add_terms(Graph& graph, const Loss& loss, const LossTerms& terms) {
    add_to(graph, "sum.loss", terms.mean * terms.count);
    add_to(graph, "sum.count", terms.count);
    if (has_accuracy(loss)) add_to(graph, "sum.right", terms.right);
}

NetworkOperands operands(Graph& graph, const Network& network, Var weights_value) {
    return {.weights = weights_value,
            .activations = codes(graph, ValueType::integer, network.activation_codes()),
            .enabled = codes(graph, ValueType::boolean, network.enabled_flags())};
}

/// The rate of each individual for this batch: its own times the schedule's factor.
Var learning_rate(Graph& graph, std::int64_t batches) {
    const Var batch = graph.input("batch", ValueType::integer, {});
    graph.update(batch, batch + 1.0);
    const Var factors = graph.input("factors", ValueType::real, Shape{batches});
    return own_number(graph, "rate") * gather(factors, batch);
}

}  // namespace

void check_fit(const Network& network, const Loss& loss, const Samples& samples,
               std::string_view part) {
    const Shape& inputs = samples.inputs.shape;
    const Shape& targets = samples.targets.shape;
    const auto fail = [&](const std::string& why) {
        throw ShapeError(
            fmt::format("the {} samples {} with targets {} cannot be learned ({}) use "
                        "another network or other data",
                        part, inputs.text(), targets.text(), why));
    };
    if (inputs.rank() != 2 && inputs.rank() != 3) fail("rows, or sequences of rows, are needed");
    if (targets.rank() == 0 || targets[0] != inputs[0]) fail("each row needs its target");
    if (inputs[-1] != network.input_features())
        fail(fmt::format("the network reads {} features", network.input_features()));
    if (network.stateful() && inputs.rank() == 2)
        fail("the network keeps state and rows have no time");
    const bool classes = wants_classes(loss);
    const std::int64_t outputs = network.blueprint().output_features;
    if (!classes && targets[-1] != outputs)
        fail(fmt::format("the network answers {} values", outputs));
    if (!classes) return;
    const auto ignored = static_cast<double>(std::get<CrossEntropy>(loss).ignore_index);
    for (const double target : samples.targets.elements)
        if (target != ignored && !(target >= 0.0 && target < static_cast<double>(outputs)))
            fail(fmt::format("class {} is none of the {} that the network answers", target,
                             outputs));
}

Graph step(const Network& network, const TrainingSettings& settings, const Samples& samples,
           std::int64_t rows) {
    Graph graph;
    const Shape shape{network.weight_count()};
    const Var values = own(graph, weights, ValueType::real, shape);
    std::vector<Var> moments;
    for (std::size_t i = 0; i < moment_count(settings.optimizer); ++i)
        moments.push_back(own(graph, fmt::format("moment.{}", i), ValueType::real, shape));
    const Var order = graph.input("order", ValueType::integer, Shape{samples.rows()});
    const Batch batch =
        rows_of(graph, samples, "train", gather(order, next_positions(graph, rows)));

    const Var outputs = answers(network, operands(graph, network, values), batch.inputs,
                                batch.targets, settings.loss);
    const LossTerms terms = measure(settings.loss, outputs, batch.targets);
    const std::vector<Var> gradients = gradient(terms.mean, std::array{values});
    const ClippedGradients clipped =
        settings.clip_norm ? clip_norm(gradients, *settings.clip_norm) : measure_norm(gradients);

    const Var taken = own_number(graph, "step");
    const std::int64_t batches = (samples.rows() + settings.batch - 1) / settings.batch;
    const StepScalars scalars{learning_rate(graph, batches), taken + 1.0};
    const UpdatedParameter next =
        update(settings.optimizer, scalars, values, clipped.gradients[0], moments);
    const Var active = own(graph, "active", ValueType::boolean, {});
    const Var takes = logical_and(active, clipped.finite);
    graph.update(values, select(takes, next.value, values));
    for (std::size_t i = 0; i < moments.size(); ++i)
        graph.update(moments[i], select(takes, next.moments[i], moments[i]));
    graph.update(taken, taken + cast(takes, ValueType::real));
    add_to(graph, "sum.skipped",
           cast(logical_and(active, logical_not(clipped.finite)), ValueType::real));
    add_terms(graph, settings.loss, terms);
    return graph;
}

Graph evaluation(const Network& network, const Loss& loss, const Samples& samples,
                 std::string_view part, std::string_view weights_name, std::int64_t rows) {
    Graph graph;
    const Var values = own(graph, weights_name, ValueType::real, Shape{network.weight_count()});
    const Batch batch = rows_of(graph, samples, part, next_positions(graph, rows));
    const Var outputs =
        answers(network, operands(graph, network, values), batch.inputs, batch.targets, loss);
    add_terms(graph, loss, measure(loss, outputs, batch.targets));
    return graph;
}

Graph keep_best(const Network& network) {
    Graph graph;
    const Shape shape{network.weight_count()};
    const Var best = own(graph, best_weights, ValueType::real, shape);
    const Var now = own(graph, weights, ValueType::real, shape);
    graph.update(best, select(own(graph, "improved", ValueType::boolean, {}), now, best));
    return graph;
}

}  // namespace cambrian::training_graphs
