#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/network/ties.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/engine/train/targets.hpp"
#include "cambrian/engine/train/training_graphs.hpp"
#include "cambrian/engine/train/training_operands.hpp"

// One step of a training, by every method.
namespace cambrian::training_graphs {
namespace {

/// The number of the step in the whole training: all its random numbers depend on it.
Var next_pass(Graph& graph) {
    const Var pass = graph.input("pass", ValueType::integer, {});
    graph.update(pass, pass + 1.0);
    return pass;
}

/// What a pass of training computes.
struct TrainedBatch {
    LossTerms terms;
    std::vector<BufferUpdate> statistics;  ///< What the running statistics become.
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
        network_operands(inner, network, concat(std::span(inputs).first(parts.size()), 0));
    all.training = &pass;
    const LossTerms terms = measure(loss, answers(network, all, rows, targets, loss), targets);
    for (const Var value : {terms.mean, terms.count, terms.right}) inner.output(value);
    for (const BufferUpdate& update : pass.updates()) inner.output(update.value);
    std::vector<Var> results =
        inline_graph(graph, eliminate_dead_code(fold_constants(inner, evaluate_node)), outer);
    TrainedBatch found{{results[0], results[1], results[2]},
                       {pass.updates().begin(), pass.updates().end()}};
    for (std::size_t i = 0; i < found.statistics.size(); ++i)
        found.statistics[i].value = results[3 + i];
    return found;
}

/// The weights after a step: as the optimizer has them, but running statistics as the pass has
/// them, and what stays as it was: disabled slots, but for a weight that others share, what is
/// frozen, and running statistics that no layer updates.
Var after_step(const Network& network, const std::vector<bool>& frozen, Var before, Var optimized,
               std::span<const BufferUpdate> statistics) {
    const std::span<const WeightRange> ranges = network.weights();
    const auto statistic = [&](std::size_t i) {
        return std::ranges::find(statistics, i, &BufferUpdate::range);
    };
    const auto stays = [&](std::size_t i) {
        const WeightRange& range = ranges[i];
        return frozen[i] || (range.parameter.buffer && statistic(i) == statistics.end()) ||
               (is_disabled(network.blueprint(), range.slot) &&
                !lends_to_enabled(network.blueprint(), range.slot, range.parameter.name));
    };
    bool all = statistics.empty();
    for (std::size_t i = 0; i < ranges.size(); ++i) all = all && !stays(i);
    if (all) return optimized;
    std::vector<Var> parts;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const WeightRange& range = ranges[i];
        if (stays(i))
            parts.push_back(slice(before, 0, range.offset, range.count));
        else if (range.parameter.buffer)
            parts.push_back(reshape(statistic(i)->value, {range.count}));
        else
            parts.push_back(slice(optimized, 0, range.offset, range.count));
    }
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

/// The schedule's factor for this batch.
Var rate_factor_of_batch(Graph& graph, std::int64_t batches) {
    const Var batch = graph.input("batch", ValueType::integer, {});
    graph.update(batch, batch + 1.0);
    return gather(graph.input("factors", ValueType::real, Shape{batches}), batch);
}

std::vector<Var> moments_of(Graph& graph, std::string_view prefix, const Optimizer& optimizer,
                            const Shape& shape) {
    std::vector<Var> moments;
    for (std::size_t i = 0; i < moment_count(optimizer); ++i)
        moments.push_back(own(graph, fmt::format("{}.{}", prefix, i), ValueType::real, shape));
    return moments;
}

/// The inverses of a step and the gradient of their loss; no loss: nothing to learn.
struct InverseStep {
    Var values;
    std::vector<Var> moments;
    std::optional<Var> gradient;
};

/// What a batch says of the weights.
struct Lesson {
    LossTerms terms;
    std::vector<BufferUpdate> statistics;
    std::vector<Var> gradients;  ///< Tensor by tensor.
    std::optional<InverseStep> inverse;
};

/// Those of the tensors that learn, by `gradients_of`; zeros for frozen ones and running
/// statistics.
template <class GradientsOf>
std::vector<Var> learning_gradients(Graph& graph, const Network& network,
                                    const std::vector<bool>& frozen, std::span<const Var> parts,
                                    const GradientsOf& gradients_of) {
    const auto learns = [&](std::size_t i) {
        return !frozen[i] && !network.weights()[i].parameter.buffer;
    };
    std::vector<Var> learning;
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (learns(i)) learning.push_back(parts[i]);
    const std::vector<Var> found = gradients_of(learning);
    std::vector<Var> all;
    std::size_t next = 0;
    for (std::size_t i = 0; i < parts.size(); ++i)
        all.push_back(learns(i) ? found[next++] : filled(graph, parts[i].shape(), 0.0));
    return all;
}

Lesson lesson_of_gradient(Graph& graph, const Network& network, const TrainingSettings& settings,
                          const std::vector<bool>& frozen, std::span<const Var> parts,
                          const Batch& batch) {
    const auto [terms, statistics] = trained(graph, network, settings.loss, parts, batch);
    std::vector<Var> gradients = learning_gradients(
        graph, network, frozen, parts,
        [&, mean = terms.mean](std::span<const Var> of) { return gradient(mean, of); });
    return {terms, statistics, std::move(gradients), {}};
}

Lesson lesson_of_targets(Graph& graph, const Network& network, const TrainingSettings& settings,
                         const std::vector<bool>& frozen, std::span<const Var> parts,
                         const Batch& batch) {
    const TargetSettings& aims = settings.targets;
    std::vector<Inverse> learned;
    if (settings.method == TrainingMethod::difference_target_propagation)
        learned = inverses_of(network);
    std::optional<ReadNoise> noise;
    std::optional<InverseStep> inverse;
    std::vector<Var> inverse_tensors;
    if (!learned.empty()) {
        const Shape shape{weight_count(learned)};
        inverse = InverseStep{own(graph, inverses, ValueType::real, shape),
                              moments_of(graph, "inverse.moment", settings.optimizer, shape),
                              {}};
        inverse_tensors = inverse_parts(learned, inverse->values);
        noise =
            ReadNoise{own(graph, inverse_noise, ValueType::integer, Shape{2}), aims.inverse_noise};
    }
    const SlotTrace trace =
        trace_slots(network, settings.loss, parts,
                    {batch.inputs, batch.targets, own(graph, "noise", ValueType::integer, Shape{2}),
                     next_pass(graph)},
                    noise);
    const InverseOperands operands{learned, inverse_tensors, aims.inverse_activation};
    const Residuals residuals = settings.method == TrainingMethod::target_propagation
                                    ? gradient_targets(network, trace, aims.step)
                                    : difference_targets(network, trace, aims.step, operands);
    if (inverse)
        if (const auto loss = reconstruction_loss(trace, residuals, operands)) {
            std::vector<Var> flat;
            for (const Var part : gradient(*loss, inverse_tensors))
                flat.push_back(reshape(part, {part.shape().elements()}));
            inverse->gradient = concat(flat, 0);
        }
    if (!aiming_slots(network).empty()) {
        const TargetDistance distance = target_distance(network, trace, residuals);
        add_to(graph, "sum.budget", distance.budgets);
        add_to(graph, "sum.gap", distance.gaps);
    }
    std::vector<Var> gradients = learning_gradients(
        graph, network, frozen, parts,
        [&](std::span<const Var> of) { return local_gradients(trace, residuals, of); });
    return {trace.loss, trace.statistics, std::move(gradients), std::move(inverse)};
}

/// Values and moments become what they are after a step where it is taken.
void take_step(Graph& graph, Var takes, const UpdatedParameter& next,
               const UpdatedParameter& before) {
    const UpdatedParameter after = select(takes, next, before);
    graph.update(before.value, after.value);
    for (std::size_t i = 0; i < after.moments.size(); ++i)
        graph.update(before.moments[i], after.moments[i]);
}

/// Takes the step of the inverses where the individual takes one, which asks for finite gradients
/// of both. Returns whether those of the inverses are.
Var update_inverses(Graph& graph, const TrainingSettings& settings, const InverseStep& inverse,
                    Var active, Var others_finite, const StepScalars& scalars) {
    const ClippedGradients clipped = clip_norm(std::array{*inverse.gradient}, settings.clip_norm);
    // They start from small random values and follow what they invert: no weight decays.
    const Var decays = broadcast(constant(graph, 0.0), inverse.values.shape());
    const UpdatedParameter next = update(settings.optimizer, scalars, inverse.values,
                                         clipped.gradients[0], inverse.moments, decays);
    const Var takes = logical_and(logical_and(active, others_finite), clipped.finite);
    take_step(graph, takes, next, {inverse.values, inverse.moments});
    return clipped.finite;
}

}  // namespace

Graph step(const Network& network, const TrainingSettings& settings, const Samples& samples,
           std::int64_t rows) {
    Graph graph;
    const Shape shape{network.weight_count()};
    const Var values = own(graph, weights, ValueType::real, shape);
    const std::vector<Var> moments = moments_of(graph, "moment", settings.optimizer, shape);
    const Var order = graph.input("order", ValueType::integer, Shape{samples.rows()});
    const Batch batch =
        rows_of(graph, samples, "train", gather(order, next_positions(graph, rows)));

    const std::vector<Var> parts = parts_of(network, values);
    const std::vector<bool> frozen = frozen_ranges(network, settings.frozen);
    const Lesson lesson = settings.method == TrainingMethod::gradient
                              ? lesson_of_gradient(graph, network, settings, frozen, parts, batch)
                              : lesson_of_targets(graph, network, settings, frozen, parts, batch);
    const ClippedGradients clipped =
        clip_norm(std::array{concat(lesson.gradients, 0)}, settings.clip_norm);

    const Var taken = own_number(graph, "step");
    const std::int64_t batches = (samples.rows() + settings.batch - 1) / settings.batch;
    const Var factor = rate_factor_of_batch(graph, batches);
    const StepScalars scalars{own_number(graph, "rate") * factor, taken + 1.0};
    UpdatedParameter next = update(settings.optimizer, scalars, values, clipped.gradients[0],
                                   moments, decaying(graph, network, settings));
    const Var active = own(graph, "active", ValueType::boolean, {});
    Var finite = clipped.finite;
    if (lesson.inverse && lesson.inverse->gradient)
        finite = logical_and(
            finite,
            update_inverses(graph, settings, *lesson.inverse, active, clipped.finite,
                            {factor * settings.targets.inverse_learning_rate, scalars.step}));
    const Var takes = logical_and(active, finite);
    next.value = after_step(network, frozen, values, kept_positive(network, values, next.value),
                            lesson.statistics);
    take_step(graph, takes, next, {values, moments});
    graph.update(taken, taken + cast(takes, ValueType::real));
    add_to(graph, "sum.skipped", cast(logical_and(active, logical_not(finite)), ValueType::real));
    add_terms(graph, epoch_sums, settings.loss, lesson.terms);
    return graph;
}

}  // namespace cambrian::training_graphs
