#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// The formats that weights are stored in, and how numbers become their codes.
namespace cambrian {

/// One row each of the table in dtype.cpp. Archives and checkpoints hold the numbers.
enum class Dtype : std::uint8_t {
    float64,
    float32,
    float16,
    bfloat16,
    float8_e4m3fn,
    float8_e5m2,
    int64,
    int32,
    int16,
    int8,
    uint64,
    uint32,
    uint16,
    uint8,
    int4,
    uint4,
    float4_e2m1fn,
    int2,
    uint2,
    ternary,
    binary,
    q4_0,
};
inline constexpr std::array<std::string_view, 22> dtype_names{
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "int64",   "int32",   "int16",   "int8",     "uint64",        "uint32",
    "uint16",  "uint8",   "int4",    "uint4",    "float4_e2m1fn", "int2",
    "uint2",   "ternary", "binary",  "q4_0"};
inline constexpr std::size_t dtype_count = dtype_names.size();
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Dtype) {
    return dtype_names;
}
[[nodiscard]] constexpr std::string_view name(Dtype dtype) {
    return dtype_names[static_cast<std::size_t>(dtype)];
}
/// The format of a name or of a short one (fp8e4m3, fp8e5m2, fp4, fp16, bf16, fp32, fp64).
[[nodiscard]] std::optional<Dtype> dtype_named(std::string_view name);

/// Numbers that share a scale: none has one, all of a matrix, those of a row (an output channel),
/// or 32 neighbours in a row, of which a last block may have fewer.
enum class ScaleGroup : std::uint8_t { none, tensor, row, block };
inline constexpr std::array<std::string_view, 4> scale_group_names{"none", "tensor", "row",
                                                                   "block"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(ScaleGroup) {
    return scale_group_names;
}
inline constexpr std::int64_t scale_block = 32;

/// Which scales the codes of a matrix have: those of their format, or in their place one for all of
/// it, one for each row (an output channel), or one for each block of 32, with `mx` a power of two
/// (OCP microscaling).
enum class Scales : std::uint8_t { format, tensor, channel, block, mx };
inline constexpr std::array<std::string_view, 5> scales_names{"format", "tensor", "channel",
                                                              "block", "mx"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Scales) {
    return scales_names;
}
[[nodiscard]] constexpr std::string_view name(Scales scales) {
    return scales_names[static_cast<std::size_t>(scales)];
}

/// What the codes of a group mean: number = (decoded code - zero point) · scale.
struct Scaling {
    float scale = 1.0F;
    std::uint64_t zero_point = 0;
    double divisor =
        1.0;  ///< Of numbers before they are encoded: the scale, before q4_0 rounds it.
};

/// How the scale of a group is found.
struct ScaleRule {
    double clip = 1.0;  ///< Share of the range of a group that its codes span.
    /// The scale is the power of two below, as in OCP microscaling; with zero points that above,
    /// because a range must fit; at most largest_power_of_two.
    bool power_of_two = false;
};

/// One row of the table of formats.
struct DtypeRow {
    Dtype dtype{};
    std::string_view short_name;    ///< May be empty.
    std::uint32_t bits = 0;         ///< Of a code.
    std::uint32_t scale_bytes = 0;  ///< Of a stored scale.
    ScaleGroup group{};             ///< Unless a scheme says otherwise; `none`: it can have none.
    bool affine = false;            ///< Whether a group has a zero point.
    double largest = 0.0;           ///< That a code stands for; the largest of a group becomes it.
    Scaling (*scaling)(const DtypeRow&, const ScaleRule&, std::span<const float> group) = nullptr;
    /// Of number / divisor, to nearest and ties to even, limited to what there is. NaN is 0 where
    /// the format has none.
    std::uint64_t (*encode)(const DtypeRow&, double quotient, double zero_point) = nullptr;
    double (*decode)(const DtypeRow&, std::uint64_t code) = nullptr;
};
[[nodiscard]] const DtypeRow& row(Dtype dtype);

/// Whether a format may have other scales than its own: not without any, and q4_0 is a format of
/// blocks.
[[nodiscard]] bool takes_scales(Dtype dtype);

/// What stands for a number that has no effect, so that no scale comes from it: NaN where the scale
/// is a mean, else 0, which is in every range.
[[nodiscard]] float uncounted(const DtypeRow& format);

/// The largest scale with which no code of a format stands for more than a float can be.
[[nodiscard]] double largest_power_of_two(const DtypeRow& format);

/// Arithmetic of encoding is f64. Infinities and NaN do not count for a scale: an infinity becomes
/// the largest of its sign, or stays one where the format has it; NaN likewise stays, or becomes 0.
/// A group without a number but zero has scale 1 and codes 0; but binary, which has no code for
/// zero, has scale 0 there.
[[nodiscard]] float decoded(const DtypeRow& format, const Scaling& scaling, std::uint64_t code);

}  // namespace cambrian
