#include "cambrian/engine/train/optimizer.hpp"

#include <cstdint>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary_f64.hpp"

namespace cambrian {
namespace {

/// Everything one step of one parameter has to do with.
struct Step {
    const StepScalars& scalars;
    Var value;
    Var gradient;
    std::span<const Var> moments;
    std::optional<Var> decays;

    /// Of each element, or of all.
    [[nodiscard]] Var shared(Var decay) const { return decays ? decay * *decays : decay; }
    [[nodiscard]] Var decayed_gradient(double weight_decay) const {
        return weight_decay != 0.0 ? gradient + shared(weight_decay * value) : gradient;
    }
};

/// factor × before + (1 − factor) × now.
Var moving_average(Var before, Var now, double factor) {
    return factor * before + (1.0 - factor) * now;
}

/// 1 / (1 − betaᵗ), with the difference taken where it does not cancel.
Var bias_correction(Var step, double beta) {
    return -1.0 / expm1(elementary_f64::log(beta) * step);
}

UpdatedParameter run(const Sgd& sgd, const Step& step) {
    const Var gradient = step.decayed_gradient(sgd.weight_decay);
    const Var rate = step.scalars.learning_rate;
    if (sgd.momentum == 0.0) return {step.value - rate * gradient, {}};
    const Var momentum = sgd.momentum * step.moments[0] + gradient;
    const Var direction = sgd.nesterov ? gradient + sgd.momentum * momentum : momentum;
    return {step.value - rate * direction, {momentum}};
}

UpdatedParameter run(const Adam& adam, const Step& step) {
    const Var gradient = adam.decoupled ? step.gradient : step.decayed_gradient(adam.weight_decay);
    const Var rate = step.scalars.learning_rate;
    const Var mean = moving_average(step.moments[0], gradient, adam.beta1);
    const Var variance = moving_average(step.moments[1], square(gradient), adam.beta2);
    const Var mean_rate = rate * bias_correction(step.scalars.step, adam.beta1);
    const Var deviation = sqrt(variance * bias_correction(step.scalars.step, adam.beta2));
    Var value = step.value;
    if (adam.decoupled && adam.weight_decay != 0.0)
        value = value * (1.0 - step.shared(adam.weight_decay * rate));
    return {value - mean_rate * mean / (deviation + adam.epsilon), {mean, variance}};
}

UpdatedParameter run(const RmsProp& rms, const Step& step) {
    const Var gradient = step.decayed_gradient(rms.weight_decay);
    const Var variance = moving_average(step.moments[0], square(gradient), rms.alpha);
    const Var change = step.scalars.learning_rate * gradient / (sqrt(variance) + rms.epsilon);
    return {step.value - change, {variance}};
}

/// Squares of many elements are taken in rows of one chain: then none need be stored.
Var sum_of_squares(Var x) {
    const std::int64_t count = x.shape().elements();
    if (count <= longest_chain) return sum_all(square(x));
    const Var flat = reshape(x, {count});
    const std::int64_t rows = count / short_chain;
    const std::int64_t whole = rows * short_chain;
    const Var sum = sum_all(square(reshape(slice(flat, 0, 0, whole), {rows, short_chain})));
    if (whole == count) return sum;
    return sum + sum_all(square(slice(flat, 0, whole, count - whole)));
}

std::size_t moments_of(const Sgd& sgd) {
    return sgd.momentum == 0.0 ? 0 : 1;
}
std::size_t moments_of(const Adam&) {
    return 2;
}
std::size_t moments_of(const RmsProp&) {
    return 1;
}

}  // namespace

std::size_t moment_count(const Optimizer& optimizer) {
    return std::visit([](const auto& kind) { return moments_of(kind); }, optimizer);
}

UpdatedParameter update(const Optimizer& optimizer, const StepScalars& scalars, Var value,
                        Var gradient, std::span<const Var> moments, std::optional<Var> decays) {
    CAMBRIAN_ASSERT(moments.size() == moment_count(optimizer));
    const Step step{scalars, value, gradient, moments, decays};
    return std::visit([&](const auto& kind) { return run(kind, step); }, optimizer);
}

double weight_decay(const Optimizer& optimizer) {
    return std::visit([](const auto& kind) { return kind.weight_decay; }, optimizer);
}

UpdatedParameter select(Var takes, const UpdatedParameter& next, const UpdatedParameter& before) {
    UpdatedParameter result{select(takes, next.value, before.value), {}};
    for (std::size_t i = 0; i < next.moments.size(); ++i)
        result.moments.push_back(select(takes, next.moments[i], before.moments[i]));
    return result;
}

ClippedGradients clip_norm(std::span<const Var> gradients, std::optional<double> largest_norm) {
    CAMBRIAN_ASSERT(!gradients.empty() && !(largest_norm && !(*largest_norm > 0.0)));
    Var squares = sum_of_squares(gradients[0]);
    for (const Var gradient : gradients.subspan(1)) squares = squares + sum_of_squares(gradient);
    const Var norm = sqrt(squares);
    ClippedGradients clipped{{gradients.begin(), gradients.end()}, norm, is_finite(norm)};
    if (!largest_norm) return clipped;
    // PyTorch's guard against a norm of zero, so that its results can be compared.
    const Var share = *largest_norm / (clipped.norm + 1e-6);
    const Var scale = min(share, constant(*share.graph, 1.0));
    for (Var& gradient : clipped.gradients) gradient = gradient * scale;
    return clipped;
}

}  // namespace cambrian
