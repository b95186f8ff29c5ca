#include "cambrian/engine/train/source_kinds.hpp"

#include <array>
#include <numbers>
#include <vector>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/core/random.hpp"

namespace cambrian {
namespace {

RandomStream stream_of(const SourceContext& context) {
    return {random_key(context.seed, "train/source"), 0};
}

/// Our own sine and cosine: the same samples on every machine.
double sine(double x) {
    return static_cast<double>(elementary::sin(static_cast<float>(x)));
}
double cosine(double x) {
    return static_cast<double>(elementary::cos(static_cast<float>(x)));
}

double noise(RandomStream& stream, double deviation) {
    return deviation * static_cast<double>(stream.normal());
}

}  // namespace

SourceRows rows_of(const XorSource&, const SourceContext&) {
    return {Tensor(ValueType::real, Shape{4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}),
            Tensor(ValueType::integer, Shape{4}, {0, 1, 1, 0}), 2};
}

SourceRows rows_of(const SineSource& source, const SourceContext& context) {
    RandomStream stream = stream_of(context);
    SourceRows result{Tensor(ValueType::real, Shape{source.rows, 1}),
                      Tensor(ValueType::real, Shape{source.rows, 1}), 0};
    const double last = std::max<double>(1.0, static_cast<double>(source.rows - 1));
    for (std::size_t row = 0; row < result.inputs.elements.size(); ++row) {
        const double x = 2.0 * static_cast<double>(row) / last - 1.0;
        result.inputs.elements[row] = x;
        result.targets.elements[row] =
            sine(std::numbers::pi * source.cycles * x) + noise(stream, source.noise);
    }
    return result;
}

SourceRows rows_of(const SpiralsSource& source, const SourceContext& context) {
    RandomStream stream = stream_of(context);
    SourceRows result{Tensor(ValueType::real, Shape{source.rows, 2}),
                      Tensor(ValueType::integer, Shape{source.rows}), 2};
    const std::int64_t of_an_arm = (source.rows + 1) / 2;
    const double each = std::max<double>(1.0, static_cast<double>(of_an_arm));
    for (std::size_t row = 0; row < result.targets.elements.size(); ++row) {
        const std::size_t arm = row % 2;
        const std::size_t step = row / 2;
        const double share = (static_cast<double>(step) + 0.5) / each;
        const double angle = 2.0 * std::numbers::pi * source.turns * share;
        const double turned = angle + (arm == 0 ? 0.0 : std::numbers::pi);
        result.inputs.elements[2 * row] = share * cosine(turned) + noise(stream, source.noise);
        result.inputs.elements[2 * row + 1] = share * sine(turned) + noise(stream, source.noise);
        result.targets.elements[row] = static_cast<double>(arm);
    }
    return result;
}

SourceRows rows_of(const BlobsSource& source, const SourceContext& context) {
    RandomStream stream = stream_of(context);
    std::vector<double> centres(static_cast<std::size_t>(source.classes * source.features));
    for (double& centre : centres) centre = 2.0 * static_cast<double>(stream.uniform()) - 1.0;
    SourceRows result{Tensor(ValueType::real, Shape{source.rows, source.features}),
                      Tensor(ValueType::integer, Shape{source.rows}), source.classes};
    const auto features = static_cast<std::size_t>(source.features);
    for (std::size_t row = 0; row < result.targets.elements.size(); ++row) {
        const std::size_t chosen = row % static_cast<std::size_t>(source.classes);
        result.targets.elements[row] = static_cast<double>(chosen);
        for (std::size_t i = 0; i < features; ++i)
            result.inputs.elements[row * features + i] =
                centres[chosen * features + i] + noise(stream, source.spread);
    }
    return result;
}

SourceRows rows_of(const DelaySource& source, const SourceContext& context) {
    RandomStream stream = stream_of(context);
    const Shape shape{source.rows, source.steps, 1};
    SourceRows result{Tensor(ValueType::real, shape), Tensor(ValueType::real, shape), 0};
    const auto steps = static_cast<std::size_t>(source.steps);
    const auto delay = static_cast<std::size_t>(source.delay);
    for (std::size_t i = 0; i < result.inputs.elements.size(); ++i) {
        result.inputs.elements[i] = stream.chance(0.5F) ? 1.0 : -1.0;
        if (i % steps >= delay) result.targets.elements[i] = result.inputs.elements[i - delay];
    }
    return result;
}

}  // namespace cambrian
