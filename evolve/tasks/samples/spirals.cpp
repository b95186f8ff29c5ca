#include <cmath>

#include "cambrian/evolve/tasks/samples/samples.hpp"

namespace cambrian::evolve {
namespace {

/// A spiral of points sixteen to a half turn, and steps halfway between them.
constexpr std::int64_t points_of_a_spiral = 97;
constexpr std::int64_t half_steps_of_a_half_turn = 32;

struct PlaneDirection {
    double cosine = 1.0;
    double sine = 0.0;
};

/// Of one half step, pi / 32: a right angle halved four times, for every machine takes the same
/// square roots.
PlaneDirection one_half_step() {
    PlaneDirection result{0.0, 1.0};
    for (int halving = 0; halving < 4; ++halving) {
        result.cosine = std::sqrt((1.0 + result.cosine) / 2.0);
        result.sine /= 2.0 * result.cosine;
    }
    return result;
}

PlaneDirection turned(const PlaneDirection& from, const PlaneDirection& by) {
    return {from.cosine * by.cosine - from.sine * by.sine,
            from.sine * by.cosine + from.cosine * by.sine};
}

/// Exact on the axes, so that errors of rotation do not add up from turn to turn.
PlaneDirection direction_of(std::int64_t half_steps) {
    constexpr std::int64_t quarter = half_steps_of_a_half_turn / 2;
    static constexpr std::array<PlaneDirection, 4> axes{{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
    PlaneDirection result = axes[static_cast<std::size_t>(half_steps / quarter % 4)];
    const PlaneDirection step = one_half_step();
    for (std::int64_t i = 0; i < half_steps % quarter; ++i) result = turned(result, step);
    return result;
}

/// Each point of the first spiral, of class 1, and then its mirror image, of class 0.
Samples spiral_points(std::int64_t first_half_step) {
    Samples samples;
    std::vector<double> inputs;
    std::vector<double> targets;
    for (std::int64_t i = first_half_step; i < 2 * points_of_a_spiral - 1; i += 2) {
        const double radius = 6.5 * (104.0 - static_cast<double>(i) / 2.0) / 104.0;
        const PlaneDirection direction = direction_of(i);
        const double x = radius * direction.sine;
        const double y = radius * direction.cosine;
        inputs.insert(inputs.end(), {x, y, -x, -y});
        targets.insert(targets.end(), {1.0, 0.0});
    }
    const auto rows = static_cast<std::int64_t>(targets.size());
    return {Tensor(ValueType::real, Shape{rows, 2}, std::move(inputs)),
            Tensor(ValueType::real, Shape{rows, 1}, std::move(targets))};
}

struct SpiralsSettings {
    static constexpr auto fields = FieldTable{};
};

}  // namespace

/// `{"type": "spirals"}`: Lang and Witbrock 1988, after Wieland's definition.
TaskKind spirals_task() {
    return sample_task<SpiralsSettings>(
        "spirals",
        "Which of two spirals a point belongs to: 194 points, tested on the 192 halfway between "
        "them. Fitness = 194 - sum of squared errors of the output, clamped to [0, 1]; a point is "
        "right on its side of 0.5.",
        [](const SpiralsSettings&) {
            return make_bits_task(
                "spirals", {.train = spiral_points(0), .validation = {}, .test = spiral_points(1)});
        });
}

}  // namespace cambrian::evolve
