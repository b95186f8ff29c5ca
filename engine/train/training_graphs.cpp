#include "cambrian/engine/train/training_graphs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/train/training_operands.hpp"

namespace cambrian::training_graphs {

Var own(Graph& graph, std::string_view name, ValueType type, const Shape& shape) {
    return graph.input(name, type, shape, true);
}
Var own_number(Graph& graph, std::string_view name) {
    return own(graph, name, ValueType::real, {});
}

Batch rows_of(Graph& graph, const Samples& samples, std::string_view part, Var indices) {
    const auto table = [&](std::string_view what, const Tensor& tensor) {
        return gather(graph.input(fmt::format("{}.{}", part, what), tensor.type, tensor.shape),
                      indices);
    };
    const Var inputs = table("inputs", samples.inputs);
    return {inputs, table("targets", samples.targets)};
}

Var next_positions(Graph& graph, std::int64_t rows) {
    const Var position = graph.input("position", ValueType::integer, {});
    graph.update(position, position + static_cast<double>(rows));
    return position + iota(graph, rows);
}

std::string lost_of(std::string_view sum) {
    return fmt::format("{}.lost", sum);
}

void add_to(Graph& graph, std::string_view name, Var value) {
    const auto buffer = [&](std::string_view of) {
        return graph.input(of, ValueType::real, value.shape(), value.info().per_individual);
    };
    const Var sum = buffer(name);
    const Var lost = buffer(lost_of(name));
    // Knuth's two-sum: what the rounding of a sum loses is exact (TAOCP 2, 4.2.2).
    const Var next = sum + value;
    const Var added = next - sum;
    graph.update(sum, next);
    graph.update(lost, lost + ((sum - (next - added)) + (value - added)));
}

void add_terms(Graph& graph, std::string_view sums, const Loss& loss, const LossTerms& terms) {
    add_to(graph, fmt::format("{}.loss", sums), terms.mean * terms.count);
    add_to(graph, fmt::format("{}.count", sums), terms.count);
    if (has_accuracy(loss)) add_to(graph, fmt::format("{}.right", sums), terms.right);
}

NetworkOperands network_operands(Graph& graph, const Network& network, Var values) {
    return {
        .weights = values,
        .activations = graph.constant(code_operand(ValueType::integer, network.activation_codes())),
        .enabled = graph.constant(code_operand(ValueType::boolean, network.enabled_flags())),
        .masters = true};
}

std::vector<Var> parts_of(const Network& network, Var values) {
    std::vector<Var> parts;
    for (const WeightRange& range : network.weights())
        parts.push_back(slice(values, 0, range.offset, range.count));
    return parts;
}

Var kept_positive(const Network& network, Var before, Var moved) {
    const std::span<const WeightRange> ranges = network.weights();
    if (std::ranges::none_of(ranges,
                             [](const WeightRange& range) { return range.parameter.positive; }))
        return moved;
    std::vector<Var> parts = parts_of(network, moved);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (!ranges[i].parameter.positive) continue;
        const Var own = slice(before, 0, ranges[i].offset, ranges[i].count);
        const Var smallest = constant(*moved.graph, double{smallest_positive});
        parts[i] = max(parts[i], min(own, smallest));
    }
    return concat(parts, 0);
}

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
    if (network.weight_count() == 0) fail("the network has no weights");
    const bool classes = wants_classes(loss);
    const std::int64_t outputs = network.blueprint().output_features;
    if (!classes && targets[-1] != outputs)
        fail(fmt::format("the network answers {} values", outputs));
    if (!classes) return;
    const auto ignored = static_cast<double>(std::get<CrossEntropy>(loss).ignore_index);
    if (std::ranges::all_of(samples.targets.elements,
                            [&](double target) { return target == ignored; }))
        fail("the loss ignores every target");
    for (const double target : samples.targets.elements)
        if (target != ignored && !(target >= 0.0 && target < static_cast<double>(outputs)))
            fail(fmt::format("class {} is none of the {} that the network answers", target,
                             outputs));
}

Var answers(const ForwardModel& network, const NetworkOperands& operands, Var inputs, Var targets,
            const Loss& loss) {
    if (inputs.rank() == 2) return network.apply(inputs, operands);
    const Var outputs = network.sequence(inputs, operands);
    if (targets.rank() == (wants_classes(loss) ? 2 : 3)) return outputs;
    const std::int64_t time = outputs.shape()[1];
    return reshape(slice(outputs, 1, time - 1, 1), {outputs.shape()[0], outputs.shape()[2]});
}

ObservedGraph observation(const Network& network, const Loss& loss, const Samples& samples,
                          std::int64_t rows) {
    constexpr std::string_view prefix = "observed.";
    Graph graph;
    const Var values = own(graph, weights, ValueType::real, Shape{network.weight_count()});
    const Var order = graph.input("order", ValueType::integer, Shape{samples.rows()});
    const Var position = graph.input("position", ValueType::integer, {});
    const Batch batch =
        rows_of(graph, samples, "train", gather(order, position + iota(graph, rows)));
    // The random numbers of the step itself.
    TrainingPass pass(own(graph, "noise", ValueType::integer, Shape{2}),
                      graph.input("pass", ValueType::integer, {}));
    NetworkOperands all = network_operands(graph, network, values);
    all.training = &pass;
    const Var outputs =
        answers(WatchedNetwork(network, prefix), all, batch.inputs, batch.targets, loss);
    capture_watched_gradients(measure(loss, outputs, batch.targets).mean, prefix);
    return {graph, network, prefix};
}

Graph evaluation(const Network& network, const Loss& loss, const Samples& samples,
                 std::string_view part, std::string_view weights_name, std::int64_t rows) {
    Graph graph;
    const Var values = own(graph, weights_name, ValueType::real, Shape{network.weight_count()});
    const Batch batch = rows_of(graph, samples, part, next_positions(graph, rows));
    const Var outputs = answers(network, network_operands(graph, network, values), batch.inputs,
                                batch.targets, loss);
    add_terms(graph, evaluation_sums, loss, measure(loss, outputs, batch.targets));
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
