#include "cambrian/engine/graph/builders/rounding.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/weights/quantised_matrix.hpp"

// Storage formats as elementwise graphs, for what is rounded at run time.
namespace cambrian {

namespace {

/// What groups are rounded with.
struct Rounding {
    const DtypeRow& format;
    NumberFormat codec = NumberFormat::f16;  ///< Of small floats.
    bool power_of_two = false;               ///< Every scale is one.
};

/// How a group, the last axis of x, is rounded.
struct GroupRounding {
    Var (*round)(Var x, const Rounding& how) = nullptr;
    NumberFormat codec = NumberFormat::f16;
};

constexpr double largest_float = std::numeric_limits<float>::max();

Var largest_along_rows(Var x) {
    return reduce_max(x, -1, true);
}

/// What counts for a scale: 0 in place of infinities and NaN.
Var counted(Var x) {
    return select(is_finite(x), x, constant(*x.graph, 0.0));
}

/// 1 where a scale is zero.
Var usable(Var scale) {
    return select(less(0.0, scale), scale, constant(*scale.graph, 1.0));
}

Var positive_part(Var x) {
    return select(less(x, 0.0), constant(*x.graph, 0.0), x);
}

/// Limited to [low, high], around 0. NaN becomes 0, which min and max take of the two.
Var limited(Var x, Var low, Var high) {
    const Var zero = constant(*x.graph, 0.0);
    return min(max(x, zero), high) + max(min(x, zero), low);
}
Var limited(Var x, double low, double high) {
    return limited(x, constant(*x.graph, low), constant(*x.graph, high));
}

Var coded(Var x, NumberFormat codec) {
    return decode(encode(x, codec), codec, x.shape()[-1]);
}

/// The power of two not above a number that is not negative and alone in its row: the exponent of
/// its bfloat16, or one less where that was rounded up to it.
Var power_of_two_below(Var x) {
    constexpr double fractions = 128.0;
    const Var code = encode(x, NumberFormat::bf16);
    const Var exponent = (code / constant(*x.graph, fractions, ValueType::integer)) * fractions;
    const Var power = decode(exponent, NumberFormat::bf16, 1);
    return select(less(x, power), power * 0.5, power);
}

/// With which the largest magnitude becomes the largest number of the format, or with powers of two
/// one of the same exponent.
Var symmetric_scale(Var x, const Rounding& how) {
    const Var range = largest_along_rows(abs(counted(x)));
    const double largest = how.format.largest;
    return usable(how.power_of_two
                      ? power_of_two_below(range) * std::ldexp(1.0, -std::ilogb(largest))
                      : range / largest);
}

Var as_it_is(Var x, const Rounding&) {
    return x;
}
Var by_codec(Var x, const Rounding& how) {
    return coded(x, how.codec);
}
Var by_scaled_codec(Var x, const Rounding& how) {
    const Var scale = symmetric_scale(x, how);
    return coded(x / scale, how.codec) * scale;
}
Var by_microscale(Var x, const Rounding& how) {
    return by_scaled_codec(x, {how.format, how.codec, true});
}
Var by_symmetric_codes(Var x, const Rounding& how) {
    const Var scale = symmetric_scale(x, how);
    return limited(round(x / scale), -how.format.largest, how.format.largest) * scale;
}
Var by_affine_codes(Var x, const Rounding& how) {
    const double largest = how.format.largest;
    const Var finite = counted(x);
    const Var high = positive_part(largest_along_rows(finite));
    const Var low = positive_part(largest_along_rows(-finite));  // Below zero.
    // In halves: the sum may be more than a float.
    Var step = (high * 0.5 + low * 0.5) / (largest * 0.5);
    if (how.power_of_two) {
        const Var below = power_of_two_below(step);
        step = min(select(less(below, step), below * 2.0, below),
                   constant(*x.graph, largest_power_of_two(how.format)));
    }
    const Var scale = usable(step);
    const Var zero = clamp(round(low / scale), 0.0, largest);
    return limited(round(x / scale), -zero, largest - zero) * scale;
}
/// Of what counts. The sum is one of parts so small that it is finite; powers of two change no
/// bits.
Var mean_magnitude_of_rows(Var x, const Rounding& how) {
    const auto parts =
        static_cast<double>(2 * std::bit_ceil(static_cast<std::uint64_t>(x.shape()[-1])));
    const Var sum = reduce_sum(abs(counted(x)) * (1.0 / parts), -1, true);
    const Var count = reduce_sum(cast(is_finite(x), ValueType::real), -1, true);
    const Var all = sum / max(count, constant(*x.graph, 1.0)) * parts;
    const Var mean = min(all, constant(*x.graph, largest_float));
    return how.power_of_two ? power_of_two_below(mean) : mean;
}
Var by_mean(Var x, const Rounding& how) {
    const Var scale = usable(mean_magnitude_of_rows(x, how));
    return limited(round(x / scale), -1.0, 1.0) * scale;
}
Var by_sign(Var x, const Rounding& how) {
    const Var mean = mean_magnitude_of_rows(x, how);
    return select(less(x, 0.0), -mean, mean);
}
/// The number of the largest magnitude, the first of equals.
Var first_largest(Var x) {
    const Var magnitude = abs(counted(x));
    const Var range = largest_along_rows(magnitude);
    // From the length of a row down to 1: the first of equals has the largest.
    const std::int64_t length = x.shape()[-1];
    const Var order = static_cast<double>(length) - cast(iota(*x.graph, length), ValueType::real);
    const Var place = select(equal(magnitude, range), order, constant(*x.graph, 0.0));
    const Var signed_place = select(less(x, 0.0), -place, place);
    const Var negative = less(largest_along_rows(signed_place), largest_along_rows(-signed_place));
    return select(negative, -range, range);
}
Var by_q4_0(Var x, const Rounding& how) {
    const Var divisor = first_largest(x) / -8.0;
    const Var scale = coded(divisor, how.codec);
    const auto known = [&, some = less(0.0, abs(scale))](Var of_group) {
        return select(some, of_group, constant(*x.graph, 1.0));
    };
    return limited(floor(x / known(divisor) + 8.5) - 8.0, -8.0, 7.0) * known(scale);
}

/// In the order of the formats.
constexpr std::array<GroupRounding, dtype_count> roundings{{
    {as_it_is},                                // float64
    {as_it_is},                                // float32
    {by_codec, NumberFormat::f16},             // float16
    {by_codec, NumberFormat::bf16},            // bfloat16
    {by_scaled_codec, NumberFormat::f8_e4m3},  // float8_e4m3fn
    {by_scaled_codec, NumberFormat::f8_e5m2},  // float8_e5m2
    {as_it_is},                                // int64
    {as_it_is},                                // int32
    {by_symmetric_codes},                      // int16
    {by_symmetric_codes},                      // int8
    {as_it_is},                                // uint64
    {as_it_is},                                // uint32
    {by_affine_codes},                         // uint16
    {by_affine_codes},                         // uint8
    {by_symmetric_codes},                      // int4
    {by_affine_codes},                         // uint4
    {by_microscale, NumberFormat::f4_e2m1},    // float4_e2m1fn
    {by_symmetric_codes},                      // int2
    {by_affine_codes},                         // uint2
    {by_mean},                                 // ternary
    {by_sign},                                 // binary
    {by_q4_0, NumberFormat::f16},              // q4_0
}};

}  // namespace

Var rounded_to(Var x, Dtype dtype, Scales scales, Where) {
    const QuantisationScheme scheme(dtype, scales);
    const GroupRounding& rounding = roundings[static_cast<std::size_t>(dtype)];
    if (rounding.round == as_it_is || x.shape().elements() == 0) return x;
    const Rounding how{row(dtype), rounding.codec, scheme.rule.power_of_two};
    if (scheme.group == ScaleGroup::tensor)
        return reshape(rounding.round(reshape(x, Shape{x.shape().elements()}), how), x.shape());
    const std::int64_t length = x.shape()[-1];
    if (scheme.group != ScaleGroup::block || length <= scale_block) return rounding.round(x, how);
    // A last block may have fewer: zeros would change the mean that some scales are.
    const Shape shape = x.shape();
    const std::int64_t whole = length / scale_block * scale_block;
    const Var rows = reshape(x, Shape{shape.elements() / length, length});
    const Var blocks =
        reshape(slice(rows, 1, 0, whole), Shape{rows.shape()[0], whole / scale_block, scale_block});
    std::vector<Var> parts{reshape(rounding.round(blocks, how), Shape{rows.shape()[0], whole})};
    if (whole < length) parts.push_back(rounding.round(slice(rows, 1, whole, length - whole), how));
    return reshape(concat(parts, 1), shape);
}

Var straight_through(Var x, Var rounded, Where where) {
    return x + stop_gradient(Operand(rounded, where) - x);
}

Var straight_through(Var x, Dtype dtype, Scales scales, Where where) {
    return straight_through(x, rounded_to(x, dtype, scales, where), where);
}

}  // namespace cambrian
