#include "cambrian/engine/core/elementary_f64.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/layers/normalisation/softmax_variants.hpp"

// Softmaxes that can give zero. Each finds its threshold without a gradient, then computes it once
// more from the logits by a step that has the gradient of the exact one.
namespace cambrian {
namespace {

constexpr std::int64_t bisections = 30;

Var zero(Graph& graph) {
    return constant(graph, 0.0);
}

/// max(z − threshold, 0)
Var above(Var z, Var threshold) {
    return max(z - threshold, zero(*z.graph));
}

/// The threshold within 2^-30 of its range below the largest logit, 0; [.., 1].
Var bisect(Var z, double power) {
    Shape one = z.shape();
    one = with_leading(one.extents().first(static_cast<std::size_t>(one.rank() - 1)), Shape{1});
    Graph body;
    const Var low = body.input("low", ValueType::real, one);
    const Var width = body.input("width", ValueType::real, {});
    const Var logits = body.input("z", ValueType::real, z.shape());
    const Var half = width * 0.5;
    const Var middle = low + half;
    const Var mass = reduce_sum(pow(above(logits, middle), power), -1, true);
    body.output(select(less(mass, 1.0), low, middle));
    body.output(half);

    Graph& graph = *z.graph;
    const auto count = static_cast<double>(z.shape()[-1]);
    const double range = 1.0 - elementary_f64::pow(count, -1.0 / power);
    const std::array carries{broadcast(constant(graph, -1.0), one), constant(graph, range)};
    const std::array invariants{z};
    return scan(std::move(body), carries, {}, invariants, {.length = bisections}).carries[0];
}

/// Logits less the largest of their row → 0 for each row, NaN where there is none: comparisons and
/// max() take what is no number for a small one, and the network would look sound.
Var fault_of(Var z) {
    return reduce_sum(select(less(z, 1.0), zero(*z.graph), z), -1, true);
}

/// One step of Newton's method for Σ max(z − t, 0)^power = 1.
Var newton(Var z, Var threshold, double power) {
    const Var s = above(z, threshold);
    const Var excess = reduce_sum(pow(s, power), -1, true) - 1.0;
    const Var slope = power * reduce_sum(pow(s, power - 1.0), -1, true);
    return threshold + excess / stop_gradient(slope);
}

}  // namespace

Var sparsemax(Var logits) {
    Graph& graph = *logits.graph;
    // Of large logits sums and differences would lose what is below the largest one.
    const Var x = logits - stop_gradient(reduce_max(logits, -1, true));
    const Var z = stop_gradient(x);
    const Var sorted = sort(z, -1, true).values;
    const Var ranks = cast(iota(graph, z.shape()[-1]), ValueType::real) + 1.0;
    const Var kept = less(cumsum(sorted, -1), 1.0 + ranks * sorted);
    const Var size = reduce_sum(cast(kept, ValueType::real), -1, true);
    const Var least = (reduce_sum(select(kept, sorted, zero(graph)), -1, true) - 1.0) / size;
    const Var support = less(least, z);
    const Var members = reduce_sum(cast(support, ValueType::real), -1, true);
    const Var sum = reduce_sum(select(support, x, zero(graph)), -1, true);
    return select(support, x - (sum - 1.0) / members, zero(graph)) + fault_of(z);
}

Var entmax(Var x, double alpha) {
    const double power = 1.0 / (alpha - 1.0);
    const Var z = (alpha - 1.0) * (x - stop_gradient(reduce_max(x, -1, true)));
    const Var fixed = stop_gradient(z);
    const Var near = newton(fixed, bisect(fixed, power), power);
    return pow(above(z, newton(z, stop_gradient(near), power)), power) + fault_of(fixed);
}

}  // namespace cambrian
