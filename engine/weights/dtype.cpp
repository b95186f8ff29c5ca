#include "cambrian/engine/weights/dtype.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"

namespace cambrian {

namespace {

using Group = std::span<const float>;

double largest_magnitude(Group group) {
    double largest = 0.0;
    for (const float x : group)
        if (std::isfinite(x)) largest = std::max(largest, std::fabs(static_cast<double>(x)));
    return largest;
}

double mean_magnitude(Group group) {
    double sum = 0.0;
    std::size_t count = 0;
    for (const float x : group) {
        if (!std::isfinite(x)) continue;
        sum += std::fabs(static_cast<double>(x));
        ++count;
    }
    return count == 0 ? 0.0 : sum / static_cast<double>(count);
}

/// A scale that is zero, or too small for a float, is 1: every code is 0 then.
Scaling with_scale(double scale) {
    const auto rounded = static_cast<float>(scale);
    if (rounded == 0.0F) return {};
    return {.scale = rounded, .zero_point = 0, .divisor = static_cast<double>(rounded)};
}

/// floor(log2 largest of the group) - floor(log2 largest of the format).
double shared_power_of_two(const DtypeRow& format, double range) {
    if (range == 0.0) return 0.0;
    // 2^63 - 1 is no double, 2^63 is another power.
    const int largest = format.bits == 64 ? 62 : std::ilogb(format.largest);
    return std::ldexp(1.0, std::ilogb(range) - largest);
}

Scaling no_scale(const DtypeRow&, const ScaleRule&, Group) {
    return {};
}

Scaling symmetric_scale(const DtypeRow& format, const ScaleRule& rule, Group group) {
    const double range = largest_magnitude(group) * rule.clip;
    return with_scale(rule.power_of_two ? shared_power_of_two(format, range)
                                        : range / format.largest);
}

Scaling microscale(const DtypeRow& format, const ScaleRule& rule, Group group) {
    return with_scale(shared_power_of_two(format, largest_magnitude(group) * rule.clip));
}

Scaling affine_scale(const DtypeRow& format, const ScaleRule& rule, Group group) {
    double low = 0.0;
    double high = 0.0;
    for (const float x : group) {
        if (!std::isfinite(x)) continue;
        low = std::min(low, static_cast<double>(x));
        high = std::max(high, static_cast<double>(x));
    }
    low *= rule.clip;
    high *= rule.clip;
    double step = (high - low) / format.largest;
    // The power above, or the range would not fit.
    if (rule.power_of_two && step > 0.0) {
        const double below = std::ldexp(1.0, std::ilogb(step));
        step = std::min(below < step ? 2.0 * below : below, largest_power_of_two(format));
    }
    Scaling scaling = with_scale(step);
    scaling.zero_point = format.encode(format, -low / scaling.divisor, 0.0);
    return scaling;
}

double clipped_mean(const ScaleRule& rule, Group group) {
    const double mean = mean_magnitude(group) * rule.clip;
    return rule.power_of_two && mean > 0.0 ? std::ldexp(1.0, std::ilogb(mean)) : mean;
}

Scaling mean_scale(const DtypeRow&, const ScaleRule& rule, Group group) {
    return with_scale(clipped_mean(rule, group));
}

Scaling binary_scale(const DtypeRow&, const ScaleRule& rule, Group group) {
    const double mean = clipped_mean(rule, group);
    Scaling scaling = with_scale(mean);
    if (static_cast<float>(mean) == 0.0F) scaling.scale = 0.0F;
    return scaling;
}

/// The number of the largest magnitude, the first of equals, becomes -8 (ggml's block_q4_0).
Scaling q4_0_scale(const DtypeRow&, const ScaleRule& rule, Group group) {
    float largest = 0.0F;
    for (const float x : group)
        if (std::isfinite(x) && std::fabs(x) > std::fabs(largest)) largest = x;
    const auto divisor = static_cast<float>(static_cast<double>(largest) * rule.clip / -8.0);
    const float scale = number_formats::decode_f16(number_formats::encode_f16(divisor));
    if (scale == 0.0F) return {.scale = 1.0F, .zero_point = 0, .divisor = 1.0};
    return {.scale = scale, .zero_point = 0, .divisor = static_cast<double>(divisor)};
}

std::uint64_t encode_f64(const DtypeRow&, double x, double) {
    return std::bit_cast<std::uint64_t>(x);
}
double decode_f64(const DtypeRow&, std::uint64_t code) {
    return std::bit_cast<double>(code);
}
std::uint64_t encode_f32(const DtypeRow&, double x, double) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(x));
}
double decode_f32(const DtypeRow&, std::uint64_t code) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(code)));
}

template <std::uint32_t (*Encode)(float)>
std::uint64_t encode_small(const DtypeRow&, double x, double) {
    return Encode(number_formats::round_to_odd(x));
}
template <float (*Decode)(std::uint32_t)>
double decode_small(const DtypeRow&, std::uint64_t code) {
    return static_cast<double>(Decode(static_cast<std::uint32_t>(code)));
}

std::uint64_t mask_of(const DtypeRow& format) {
    return ~std::uint64_t{0} >> (64U - format.bits);
}

std::int64_t sign_extended(const DtypeRow& format, std::uint64_t code) {
    const std::uint32_t unused = 64U - format.bits;
    return static_cast<std::int64_t>(code << unused) >> unused;
}

std::uint64_t encode_signed(const DtypeRow& format, double x, double) {
    if (std::isnan(x)) return 0;
    const double rounded = std::nearbyint(x);
    // 2^63 - 1 is no double: what reaches 2^63 is limited apart.
    const auto most = static_cast<std::int64_t>(mask_of(format) >> 1U);
    const std::int64_t whole = rounded >= format.largest    ? most
                               : rounded <= -format.largest ? -most
                                                            : static_cast<std::int64_t>(rounded);
    return static_cast<std::uint64_t>(whole) & mask_of(format);
}
double decode_signed(const DtypeRow& format, std::uint64_t code) {
    return static_cast<double>(sign_extended(format, code));
}

std::uint64_t encode_unsigned(const DtypeRow& format, double x, double zero_point) {
    const double whole = (std::isnan(x) ? 0.0 : std::nearbyint(x)) + zero_point;
    if (whole >= format.largest) return mask_of(format);
    return whole <= 0.0 ? 0U : static_cast<std::uint64_t>(whole);
}
double decode_unsigned(const DtypeRow&, std::uint64_t code) {
    return static_cast<double>(code);
}

std::uint64_t encode_sign(const DtypeRow&, double x, double) {
    return x < 0.0 ? 1U : 0U;
}
double decode_sign(const DtypeRow&, std::uint64_t code) {
    return code == 0 ? 1.0 : -1.0;
}

std::uint64_t encode_q4_0(const DtypeRow&, double x, double) {
    if (std::isnan(x)) return 8;
    return static_cast<std::uint64_t>(std::clamp(std::floor(x + 8.5), 0.0, 15.0));
}
double decode_q4_0(const DtypeRow&, std::uint64_t code) {
    return static_cast<double>(code) - 8.0;
}

constexpr DtypeRow unscaled(Dtype dtype, std::string_view name, std::uint32_t bits, auto encode,
                            auto decode) {
    return {dtype, name, bits, 0, ScaleGroup::none, false, 0.0, no_scale, encode, decode};
}
constexpr DtypeRow small_float(Dtype dtype, std::string_view name, double largest, auto encode,
                               auto decode) {
    return {dtype, name, 8, 4, ScaleGroup::row, false, largest, symmetric_scale, encode, decode};
}
/// In f64, as the arithmetic of encoding is.
constexpr double codes_of(std::uint32_t bits) {
    return bits == 64 ? 0x1p64 : static_cast<double>((std::uint64_t{1} << bits) - 1U);
}
constexpr ScaleGroup group_of(std::uint32_t bits) {
    return bits <= 4 ? ScaleGroup::block : ScaleGroup::row;
}
constexpr DtypeRow whole(Dtype dtype, std::uint32_t bits) {
    return {dtype,
            "",
            bits,
            4,
            group_of(bits),
            false,
            bits == 64 ? 0x1p63 : codes_of(bits - 1),
            symmetric_scale,
            encode_signed,
            decode_signed};
}
constexpr DtypeRow natural(Dtype dtype, std::uint32_t bits) {
    return {dtype,
            "",
            bits,
            4,
            group_of(bits),
            true,
            codes_of(bits),
            affine_scale,
            encode_unsigned,
            decode_unsigned};
}

namespace nf = number_formats;
constexpr std::array<DtypeRow, dtype_count> dtype_rows{
    unscaled(Dtype::float64, "fp64", 64, encode_f64, decode_f64),
    unscaled(Dtype::float32, "fp32", 32, encode_f32, decode_f32),
    unscaled(Dtype::float16, "fp16", 16, encode_small<nf::encode_f16>,
             decode_small<nf::decode_f16>),
    unscaled(Dtype::bfloat16, "bf16", 16, encode_small<nf::encode_bf16>,
             decode_small<nf::decode_bf16>),
    small_float(Dtype::float8_e4m3fn, "fp8e4m3", 448.0, encode_small<nf::encode_f8_e4m3>,
                decode_small<nf::decode_f8_e4m3>),
    small_float(Dtype::float8_e5m2, "fp8e5m2", 57344.0, encode_small<nf::encode_f8_e5m2>,
                decode_small<nf::decode_f8_e5m2>),
    whole(Dtype::int64, 64),
    whole(Dtype::int32, 32),
    whole(Dtype::int16, 16),
    whole(Dtype::int8, 8),
    natural(Dtype::uint64, 64),
    natural(Dtype::uint32, 32),
    natural(Dtype::uint16, 16),
    natural(Dtype::uint8, 8),
    whole(Dtype::int4, 4),
    natural(Dtype::uint4, 4),
    DtypeRow{Dtype::float4_e2m1fn, "fp4", 4, 4, ScaleGroup::block, false, 6.0, microscale,
             encode_small<nf::encode_f4_e2m1>, decode_small<nf::decode_f4_e2m1>},
    whole(Dtype::int2, 2),
    natural(Dtype::uint2, 2),
    DtypeRow{Dtype::ternary, "", 2, 4, ScaleGroup::row, false, 1.0, mean_scale, encode_signed,
             decode_signed},
    DtypeRow{Dtype::binary, "", 1, 4, ScaleGroup::row, false, 1.0, binary_scale, encode_sign,
             decode_sign},
    DtypeRow{Dtype::q4_0, "", 4, 2, ScaleGroup::block, false, 8.0, q4_0_scale, encode_q4_0,
             decode_q4_0},
};
static_assert([] {
    for (std::size_t i = 0; i < dtype_rows.size(); ++i)
        if (static_cast<std::size_t>(dtype_rows[i].dtype) != i) return false;
    return true;
}());

}  // namespace

const DtypeRow& row(Dtype dtype) {
    CAMBRIAN_EXPECT(static_cast<std::size_t>(dtype) < dtype_rows.size());
    return dtype_rows[static_cast<std::size_t>(dtype)];
}

bool takes_scales(Dtype dtype) {
    return row(dtype).group != ScaleGroup::none && dtype != Dtype::q4_0;
}

std::optional<Dtype> dtype_named(std::string_view wanted) {
    for (const DtypeRow& format : dtype_rows)
        if (wanted == name(format.dtype) || (!wanted.empty() && wanted == format.short_name))
            return format.dtype;
    return std::nullopt;
}

float uncounted(const DtypeRow& format) {
    const bool by_mean = format.scaling == mean_scale || format.scaling == binary_scale;
    return by_mean ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
}

double largest_power_of_two(const DtypeRow& format) {
    return std::ldexp(1.0,
                      std::numeric_limits<float>::max_exponent - 1 - std::ilogb(format.largest));
}

float decoded(const DtypeRow& format, const Scaling& scaling, std::uint64_t code) {
    const double number = format.decode(format, code);
    return static_cast<float>((number - static_cast<double>(scaling.zero_point)) *
                              static_cast<double>(scaling.scale));
}

}  // namespace cambrian
