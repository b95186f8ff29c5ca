#include "cambrian/engine/train/training_graphs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/reference/reference.hpp"

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

/// `rows` positions from the shared counter on, which moves after them.
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

/// The number of the step in the whole training: all its random numbers depend on it.
Var next_pass(Graph& graph) {
    const Var pass = graph.input("pass", ValueType::integer, {});
    graph.update(pass, pass + 1.0);
    return pass;
}

/// What a pass of training computes.
struct TrainedBatch {
    LossTerms terms;
    std::vector<Var>
        statistics;  ///< New values of the running statistics, in order of the weights.
};

/// The loss of a batch. Written as a graph of its own that is simplified before it is
/// differentiated: each tensor of weights then is an operand by itself, and its gradient needs no
/// zeros around it.
TrainedBatch trained(Graph& graph, const Network& network, const Loss& loss,
                     std::span<const Var> parts, const Batch& batch) {
    std::vector<Var> outer(parts.begin(), parts.end());
    outer.insert(outer.end(),
                 {batch.inputs, batch.targets, own(graph, "noise", ValueType::integer, Shape{2}),
                  next_pass(graph)});
    Graph inner;
    std::vector<Var> inputs;
    for (const Var value : outer)
        inputs.push_back(
            inner.input("", value.info().type, value.shape(), value.info().per_individual));
    const auto [rows, targets, key, id] = std::tuple{inputs[parts.size()], inputs[parts.size() + 1],
                                                     inputs[parts.size() + 2], inputs.back()};
    TrainingPass pass(key, id);
    NetworkOperands all =
        operands(inner, network, concat(std::span(inputs).first(parts.size()), 0));
    all.training = &pass;
    const LossTerms terms = measure(loss, answers(network, all, rows, targets, loss), targets);
    for (const Var value : {terms.mean, terms.count, terms.right}) inner.output(value);
    for (const BufferUpdate& update : pass.updates()) inner.output(update.value);
    std::vector<Var> results =
        inline_graph(graph, eliminate_dead_code(fold_constants(inner, evaluate_node)), outer);
    return {{results[0], results[1], results[2]}, {results.begin() + 3, results.end()}};
}

/// Whether weights are of a slot that is passed by: they stay as they are.
bool is_disabled(const Network& network, const WeightRange& range) {
    const Blueprint& blueprint = network.blueprint();
    if (range.slot < 0 || range.slot >= blueprint.grid.slots()) return false;
    const auto& slot = blueprint.slots[static_cast<std::size_t>(range.slot)];
    return slot && !slot->enabled;
}

/// The weights after a step: as the optimizer has them, but running statistics as the pass has
/// them, and those of disabled slots as they were.
Var after_step(const Network& network, Var before, Var optimized, std::span<const Var> statistics) {
    const bool all = statistics.empty() &&
                     std::ranges::none_of(network.weights(), [&](const WeightRange& range) {
                         return is_disabled(network, range);
                     });
    if (all) return optimized;
    std::vector<Var> parts;
    std::size_t next = 0;
    for (const WeightRange& range : network.weights()) {
        Var part = slice(optimized, 0, range.offset, range.count);
        if (is_disabled(network, range)) {
            part = slice(before, 0, range.offset, range.count);
        } else if (range.parameter.buffer) {
            CAMBRIAN_ASSERT(next < statistics.size());
            part = reshape(statistics[next++], {range.count});
        }
        parts.push_back(part);
    }
    CAMBRIAN_ASSERT(next == statistics.size());
    return concat(parts, 0);
}

/// Which weights decay, as `update` asks for it; nothing where all do, or none would.
std::optional<Var> decaying(Graph& graph, const Network& network,
                            const TrainingSettings& settings) {
    const std::vector<bool> decays = decaying_ranges(network, settings.undecayed);
    if (weight_decay(settings.optimizer) == 0.0 || std::ranges::find(decays, false) == decays.end())
        return std::nullopt;
    std::vector<Var> parts;
    for (std::size_t i = 0; i < decays.size(); ++i)
        parts.push_back(
            broadcast(constant(graph, decays[i] ? 1.0 : 0.0), {network.weights()[i].count}));
    return concat(parts, 0);
}

/// The rate of each individual for this batch: its own times the schedule's factor.
Var learning_rate(Graph& graph, std::int64_t batches) {
    const Var batch = graph.input("batch", ValueType::integer, {});
    graph.update(batch, batch + 1.0);
    const Var factors = graph.input("factors", ValueType::real, Shape{batches});
    return own_number(graph, "rate") * gather(factors, batch);
}

}  // namespace

std::vector<Var> parts_of(const Network& network, Var values) {
    std::vector<Var> parts;
    for (const WeightRange& range : network.weights())
        parts.push_back(slice(values, 0, range.offset, range.count));
    return parts;
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

    const std::vector<Var> parts = parts_of(network, values);
    const auto [terms, statistics] = trained(graph, network, settings.loss, parts, batch);
    const std::array gradients{concat(gradient(terms.mean, parts), 0)};
    const ClippedGradients clipped =
        settings.clip_norm ? clip_norm(gradients, *settings.clip_norm) : measure_norm(gradients);

    const Var taken = own_number(graph, "step");
    const std::int64_t batches = (samples.rows() + settings.batch - 1) / settings.batch;
    const StepScalars scalars{learning_rate(graph, batches), taken + 1.0};
    const UpdatedParameter next = update(settings.optimizer, scalars, values, clipped.gradients[0],
                                         moments, decaying(graph, network, settings));
    const Var active = own(graph, "active", ValueType::boolean, {});
    const Var takes = logical_and(active, clipped.finite);
    graph.update(values,
                 select(takes, after_step(network, values, next.value, statistics), values));
    for (std::size_t i = 0; i < moments.size(); ++i)
        graph.update(moments[i], select(takes, next.moments[i], moments[i]));
    graph.update(taken, taken + cast(takes, ValueType::real));
    add_to(graph, "sum.skipped",
           cast(logical_and(active, logical_not(clipped.finite)), ValueType::real));
    add_terms(graph, settings.loss, terms);
    return graph;
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
    NetworkOperands all = operands(graph, network, values);
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
