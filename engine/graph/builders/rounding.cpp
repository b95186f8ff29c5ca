#include "cambrian/engine/graph/builders/rounding.hpp"

#include <array>

#include "cambrian/engine/graph/builders/builders.hpp"

// Storage formats as elementwise graphs, for what is rounded at run time.
namespace cambrian {

namespace {

/// How a group, the last axis of x, is rounded.
struct GroupRounding {
    Var (*round)(Var x, const DtypeRow& format, NumberFormat codec) = nullptr;
    NumberFormat codec = NumberFormat::f16;  ///< Of small floats.
};

Var largest_along_rows(Var x) {
    return reduce_max(x, -1, true);
}

/// 1 where a scale is zero.
Var usable(Var scale) {
    return select(less(0.0, scale), scale, constant(*scale.graph, 1.0));
}

Var positive_part(Var x) {
    return select(less(x, 0.0), constant(*x.graph, 0.0), x);
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

Var as_it_is(Var x, const DtypeRow&, NumberFormat) {
    return x;
}
Var by_codec(Var x, const DtypeRow&, NumberFormat codec) {
    return coded(x, codec);
}
Var by_scaled_codec(Var x, const DtypeRow& format, NumberFormat codec) {
    const Var scale = usable(largest_along_rows(abs(x)) / format.largest);
    return coded(x / scale, codec) * scale;
}
Var by_microscale(Var x, const DtypeRow&, NumberFormat codec) {
    const Var scale = usable(power_of_two_below(largest_along_rows(abs(x))) * 0.25);
    return coded(x / scale, codec) * scale;
}
Var by_symmetric_codes(Var x, const DtypeRow& format, NumberFormat) {
    const Var scale = usable(largest_along_rows(abs(x)) / format.largest);
    return clamp(round(x / scale), -format.largest, format.largest) * scale;
}
Var by_affine_codes(Var x, const DtypeRow& format, NumberFormat) {
    const Var high = positive_part(largest_along_rows(x));
    const Var low = positive_part(largest_along_rows(-x));  // Below zero.
    const Var scale = usable((high + low) / format.largest);
    const Var zero = clamp(round(low / scale), 0.0, format.largest);
    return (clamp(round(x / scale) + zero, 0.0, format.largest) - zero) * scale;
}
Var mean_magnitude_of_rows(Var x) {
    return reduce_sum(abs(x), -1, true) / static_cast<double>(x.shape()[-1]);
}
Var by_mean(Var x, const DtypeRow&, NumberFormat) {
    const Var scale = usable(mean_magnitude_of_rows(x));
    return clamp(round(x / scale), -1.0, 1.0) * scale;
}
Var by_sign(Var x, const DtypeRow&, NumberFormat) {
    const Var mean = mean_magnitude_of_rows(x);
    return select(less(x, 0.0), -mean, mean);
}
Var by_q4_0(Var x, const DtypeRow&, NumberFormat codec) {
    const Var high = largest_along_rows(x);
    const Var low = -largest_along_rows(-x);
    const Var divisor = select(greater_equal(high, -low), high, low) / -8.0;
    const Var divided = x / select(less(0.0, abs(divisor)), divisor, constant(*x.graph, 1.0));
    const Var codes = clamp(floor(divided + 8.5), 0.0, 15.0) - 8.0;
    return codes * coded(divisor, codec);
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

Var rounded_to(Var x, Dtype dtype, Where) {
    const DtypeRow& format = row(dtype);
    const GroupRounding& rounding = roundings[static_cast<std::size_t>(dtype)];
    if (rounding.round == as_it_is || x.shape().elements() == 0) return x;
    const std::int64_t length = x.shape()[-1];
    if (format.group != ScaleGroup::block || length <= scale_block)
        return rounding.round(x, format, rounding.codec);
    // Zeros at the end of the last block change no scale.
    const std::int64_t blocks = (length + scale_block - 1) / scale_block;
    const Shape shape = x.shape();
    const std::int64_t rows = shape.elements() / length;
    const Var filled = pad(reshape(x, Shape{rows, length}), 1, 0, blocks * scale_block - length);
    const Var rounded =
        rounding.round(reshape(filled, Shape{rows, blocks, scale_block}), format, rounding.codec);
    return reshape(slice(reshape(rounded, Shape{rows, blocks * scale_block}), 1, 0, length), shape);
}

Var straight_through(Var x, Dtype dtype, Where where) {
    return x + stop_gradient(rounded_to(x, dtype, where) - x);
}

}  // namespace cambrian
