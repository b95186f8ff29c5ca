#include "cambrian/engine/graph/builders/losses.hpp"

#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/activation.hpp"
#include "cambrian/engine/graph/builders/index.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"

namespace cambrian {
namespace {

/// What the targets pick: which of them count, and the elements of x there.
struct Picked {
    std::optional<Var> counts{};  ///< Boolean, where some may not count.
    Var column;  ///< [.., 1] of targets [..]; at class 0 for a target that does not count.
};

Picked pick(Var x, Var targets, const LossOptions& options, Where where) {
    Picked picked;
    if (options.ignored) {
        Graph& graph = *x.graph;
        const Var ignored =
            constant(graph, static_cast<double>(*options.ignored), ValueType::integer);
        picked.counts = logical_not(equal(targets, ignored, where), where);
        targets = select(*picked.counts, targets, constant(graph, 0.0, ValueType::integer), where);
    }
    std::vector<std::int64_t> column(targets.shape().extents().begin(),
                                     targets.shape().extents().end());
    column.push_back(1);
    const Var indices = reshape(targets, Shape(std::span<const std::int64_t>(column)), where);
    picked.column = take_along_axis(x, indices, -1, where);
    return picked;
}

Var formed(Var losses, const Picked& picked, LossForm form, Where where) {
    Graph& graph = *losses.graph;
    const auto at = [&](Var value) { return Operand(value, where); };
    if (picked.counts) losses = select(*picked.counts, losses, constant(graph, 0.0), where);
    if (form == LossForm::each) return losses;
    if (form == LossForm::sum) return sum_all(losses, where);
    if (!picked.counts) return mean_all(losses, where);
    const Var count = sum_all(cast(*picked.counts, ValueType::real, where), where);
    return at(sum_all(losses, where)) / at(max(count, constant(graph, 1.0), where));
}

}  // namespace

Var nll(Var log_probabilities, Var targets, const LossOptions& options, Where where) {
    const Picked picked = pick(log_probabilities, targets, options, where);
    const Var elements = reshape(picked.column, targets.shape(), where);
    return formed(-Operand(elements, where), picked, options.form, where);
}

Var cross_entropy(Var logits, Var targets, const LossOptions& options, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    const Picked picked = pick(logits, targets, options, where);
    const Exponentials e = exponentials(logits, -1, where);
    // Logits are subtracted first: the logarithm would be lost beside large ones.
    const Var below = at(e.shift) - at(picked.column);
    const Var losses = at(below) + at(log(e.sum, where));
    return formed(reshape(losses, targets.shape(), where), picked, options.form, where);
}

Var mse(Var prediction, Var target, Where where) {
    const Var difference = Operand(prediction, where) - target;
    return mean_all(square(difference, where), where);
}

Var mae(Var prediction, Var target, Where where) {
    return mean_all(abs(Operand(prediction, where) - Operand(target, where), where), where);
}

Var huber(Var prediction, Var target, double delta, Where where) {
    if (!(delta > 0.0))
        throw ShapeError("a huber loss has delta = " + std::to_string(delta) +
                         " (it is where the square ends) use a positive number");
    const auto at = [&](Var value) { return Operand(value, where); };
    const Var error = abs(at(prediction) - at(target), where);
    const Var inner = min(error, constant(*error.graph, delta), where);
    return mean_all(at(inner) * at(at(error) - at(0.5 * at(inner))), where);
}

Var bce_with_logits(Var logits, Var targets, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    const SoftplusTerms terms = softplus_terms(logits, where);
    // Terms that cancel are added first; also in the gradient, which goes from the last node back.
    const Var product = at(logits) * at(targets);
    const Var above = at(terms.ramp) - at(product);
    return mean_all(at(above) + at(terms.bend), where);
}

}  // namespace cambrian
