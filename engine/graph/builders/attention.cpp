#include "cambrian/engine/graph/builders/attention.hpp"

#include <algorithm>
#include <cmath>

#include "cambrian/engine/core/elementary_f64.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/index.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/norms.hpp"

namespace cambrian {
namespace {

using Extents = std::vector<std::int64_t>;

Extents extents_of(const Shape& shape) {
    return {shape.extents().begin(), shape.extents().end()};
}

Var reshaped(Var x, const Extents& extents, Where where) {
    return reshape(x, Shape(std::span<const std::int64_t>(extents)), where);
}

constexpr double full_turn = 6.283185307179586;

/// Which pairs turn, and by what.
struct Rotation {
    std::int64_t rotary = 0;
    double base = 0.0;
    RotaryScaling scaling;
};

/// The number of the pair that turns so often in the original sequence, between whole ones.
double pair_of(double turns, const Rotation& rotation) {
    return static_cast<double>(rotation.rotary) *
           elementary_f64::log(rotation.scaling.original / (turns * full_turn)) /
           (2.0 * elementary_f64::log(rotation.base));
}

/// The share of its angle that a pair keeps, as the library transformers has it for yarn.
double kept_by_yarn(std::int64_t pair, const Rotation& rotation) {
    double begin = pair_of(rotation.scaling.high, rotation);
    double end = pair_of(rotation.scaling.low, rotation);
    if (rotation.scaling.truncate) {
        begin = std::floor(begin);
        end = std::ceil(end);
    }
    begin = std::max(begin, 0.0);
    end = std::min(end, static_cast<double>(rotation.rotary - 1));
    if (begin == end) end += 0.001;
    return 1.0 - std::clamp((static_cast<double>(pair) - begin) / (end - begin), 0.0, 1.0);
}

/// The angle by which a pair turns from one position to the next.
double frequency_of(std::int64_t pair, const Rotation& rotation) {
    const RotaryScaling& scaling = rotation.scaling;
    const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(rotation.rotary);
    const double frequency = elementary_f64::pow(rotation.base, exponent);
    const double divided = frequency / scaling.factor;
    if (scaling.original == 0.0) return divided;
    const double turns = scaling.original * frequency / full_turn;
    const double share =
        scaling.yarn ? kept_by_yarn(pair, rotation)
                     : std::clamp((turns - scaling.low) / (scaling.high - scaling.low), 0.0, 1.0);
    return (1.0 - share) * divided + share * frequency;
}

/// Pairs of x turned by angles: see rope. x is as wide as all pairs.
Var turn_pairs(Var x, const RotaryTables& tables, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    const std::int64_t half = x.shape()[-1] / 2;
    Extents pairs = extents_of(x.shape());
    pairs.back() = 2;
    pairs.push_back(half);
    const auto beside_pairs = [&](Var table) {
        Extents extents = extents_of(table.shape());
        extents.insert(extents.end() - 1, 1);
        return reshaped(table, extents, where);
    };
    const Var halves = reshaped(x, pairs, where);
    const Var signs = x.graph->constant(Tensor(ValueType::real, {2, 1}, {-1.0, 1.0}));
    const Var sine = at(beside_pairs(tables.sine)) * at(signs);
    const Var turned = at(at(halves) * at(beside_pairs(tables.cosine))) +
                       at(at(flip(halves, -2, where)) * at(sine));
    return reshape(turned, x.shape(), where);
}

double scale_of(Var q, const std::optional<double>& scale) {
    const auto width = static_cast<double>(q.rank() > 0 ? q.shape()[-1] : 1);
    return scale.value_or(1.0 / std::sqrt(std::max(width, 1.0)));
}

}  // namespace

Attention attention(Var q, Var k, Var v, const AttentionOptions& options, Where where) {
    AttentionAttribute attribute;
    attribute.causal = options.causal;
    attribute.valid = options.valid.has_value();
    attribute.scale = scale_of(q, options.scale);
    std::vector<Var> operands{q, k, v};
    if (options.valid) operands.push_back(*options.valid);
    const Var output = q.graph->add(Op::attention, operands, attribute, where);
    return {output, {q.graph, ValueId{static_cast<std::uint32_t>(output.id) + 1}}};
}

Var cached_attention(Var q, const KeysAndValues& cache, const KeysAndValues& own, Var position,
                     const CachedAttentionOptions& options, Where where) {
    const std::array operands{q, cache.keys, cache.values, own.keys, own.values, position};
    const CachedAttentionAttribute attribute{scale_of(q, options.scale), options.window};
    return q.graph->add(Op::cached_attention, operands, attribute, where);
}

RotaryTables rotary_tables(Graph& graph, std::int64_t length, std::int64_t rotary, double base,
                           const RotaryScaling& scaling) {
    if (length < 1 || rotary < 2 || rotary % 2 != 0 || !(base > 0.0))
        throw ShapeError("rotary tables of " + std::to_string(length) + " positions and width " +
                         std::to_string(rotary) +
                         " cannot be made (elements turn in pairs) use at least one position, an "
                         "even width and a positive base");
    const Shape shape{length, rotary / 2};
    Tensor cosine(ValueType::real, shape);
    Tensor sine(ValueType::real, shape);
    for (std::int64_t pair = 0; pair < rotary / 2; ++pair) {
        const double frequency = frequency_of(pair, {rotary, base, scaling});
        for (std::int64_t position = 0; position < length; ++position) {
            const double angle = static_cast<double>(position) * frequency;
            const auto at = static_cast<std::size_t>(position * (rotary / 2) + pair);
            cosine.elements[at] = scaling.gain * elementary_f64::cos(angle);
            sine.elements[at] = scaling.gain * elementary_f64::sin(angle);
        }
    }
    return {graph.constant(std::move(cosine)), graph.constant(std::move(sine))};
}

RotaryTables at_positions(const RotaryTables& tables, Var positions, Where where) {
    return {gather(tables.cosine, positions, where), gather(tables.sine, positions, where)};
}

Var rope(Var x, const RotaryTables& tables, Where where) {
    const std::int64_t rotary = 2 * tables.cosine.shape()[-1];
    const std::int64_t width = x.shape()[-1];
    if (rotary == width) return turn_pairs(x, tables, where);
    const std::array parts{turn_pairs(slice(x, -1, 0, rotary, where), tables, where),
                           slice(x, -1, rotary, width - rotary, where)};
    return concat(parts, -1, where);
}

QueriesAndKeys qk_norm_rope(Var q, Var k, Var q_gain, Var k_gain, const RotaryTables& tables,
                            double epsilon, Where where) {
    return {rope(rms_norm(q, q_gain, epsilon, where), tables, where),
            rope(rms_norm(k, k_gain, epsilon, where), tables, where)};
}

}  // namespace cambrian
