#include "cambrian/engine/graph/builders/norms.hpp"

#include <algorithm>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"

namespace cambrian {
namespace {

/// The axes that statistics are taken over, in a form to sum along and to broadcast from.
struct Axes {
    std::vector<bool> reduced;
    Shape kept;  ///< Extents with 1 for every reduced axis.
    Shape own;   ///< Extents without them.
    std::int64_t count = 1;
};

Axes axes_of(const Shape& shape, std::span<const int> axes) {
    Axes result;
    result.reduced.assign(static_cast<std::size_t>(shape.rank()), false);
    for (const int axis : axes)
        result.reduced[static_cast<std::size_t>(shape.normalise_axis(axis))] = true;
    std::vector<std::int64_t> kept;
    std::vector<std::int64_t> own;
    for (std::size_t i = 0; i < result.reduced.size(); ++i) {
        const std::int64_t extent = shape.extents()[i];
        kept.push_back(result.reduced[i] ? 1 : extent);
        if (result.reduced[i])
            result.count *= extent;
        else
            own.push_back(extent);
    }
    result.kept = Shape(std::span<const std::int64_t>(kept));
    result.own = Shape(std::span<const std::int64_t>(own));
    return result;
}

Var mean_over(Var x, const Axes& axes, Where where) {
    for (int axis = x.rank() - 1; axis >= 0; --axis)
        if (axes.reduced[static_cast<std::size_t>(axis)]) x = reduce_sum(x, axis, true, where);
    return Operand(x, where) * (1.0 / static_cast<double>(axes.count));
}

/// centred / sqrt(variance + epsilon) × gain + bias, statistics as kept axes.
Var normalised(Operand centred, Operand variance, Operand gain, Operand bias, double epsilon) {
    const Where where = centred.where;
    const auto at = [&](Var value) { return Operand(value, where); };
    const Var scaled = centred * at(rsqrt(variance + epsilon, where));
    return at(at(scaled) * gain) + bias;
}

}  // namespace

Var rms_norm(Var x, Var gain, double epsilon, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    const Var mean_square = reduce_mean(square(x, where), -1, true, where);
    const Var scaled = at(x) * at(rsqrt(at(mean_square) + epsilon, where));
    return at(scaled) * at(gain);
}

SumAndNorm add_rms_norm(Var x, Var residual, Var gain, double epsilon, Where where) {
    const Var sum = Operand(x, where) + Operand(residual, where);
    return {sum, rms_norm(sum, gain, epsilon, where)};
}

Var norm_add(Var x, Var gain, Var residual, double epsilon, Where where) {
    return Operand(rms_norm(x, gain, epsilon, where), where) + Operand(residual, where);
}

Var layer_norm(Var x, Var gain, Var bias, double epsilon, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    const Var centred = at(x) - at(reduce_mean(x, -1, true, where));
    const Var variance = reduce_mean(square(centred, where), -1, true, where);
    return normalised(at(centred), at(variance), at(gain), at(bias), epsilon);
}

Var batch_norm(Var x, Var gain, Var bias, const Statistics& running, std::span<const int> axes,
               const BatchNormOptions& options, Where where) {
    const Axes over = axes_of(x.shape(), axes);
    const auto kept = [&](Var value) { return Operand(reshape(value, over.kept, where), where); };
    const Var centred = Operand(x, where) - kept(running.mean);
    return normalised(Operand(centred, where), kept(running.variance), kept(gain), kept(bias),
                      options.epsilon);
}

TrainedBatchNorm batch_norm_training(Var x, Var gain, Var bias, const Statistics& running,
                                     std::span<const int> axes, const BatchNormOptions& options,
                                     Where where) {
    const Axes over = axes_of(x.shape(), axes);
    if (over.count < 2)
        throw ShapeError("batch_norm cannot be trained on " + x.shape().text() +
                         " (its statistics need two values of a feature or more) use larger "
                         "batches, and none that leave a single row over");
    const auto at = [&](Var value) { return Operand(value, where); };
    const auto kept = [&](Var value) { return at(reshape(value, over.kept, where)); };
    const Var mean = mean_over(x, over, where);
    const Var centred = at(x) - at(mean);
    const Var variance = mean_over(square(centred, where), over, where);
    const Var output =
        normalised(at(centred), at(variance), kept(gain), kept(bias), options.epsilon);

    const auto moved = [&](Var old, Var batch, double factor) {
        const Var own = stop_gradient(reshape(batch, over.own, where), where);
        return at(stop_gradient(old, where) * at(constant(*x.graph, 1.0 - options.momentum))) +
               at(at(own) * (options.momentum * factor));
    };
    const auto count = static_cast<double>(over.count);
    const double unbiased = count / (count - 1.0);
    return {output, {moved(running.mean, mean, 1.0), moved(running.variance, variance, unbiased)}};
}

}  // namespace cambrian
