#include "cambrian/engine/weights/quantised_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian {

namespace {

constexpr std::uint32_t byte_bits = 8;
constexpr double largest_float = std::numeric_limits<float>::max();

std::int64_t row_bytes_of(const DtypeRow& format, std::int64_t columns) {
    // In this order: a column count may be near the largest number.
    const std::int64_t in_byte = format.bits < byte_bits ? byte_bits / format.bits : 1;
    const std::int64_t bytes = std::max(format.bits, byte_bits) / byte_bits;
    return (columns / in_byte + (columns % in_byte != 0 ? 1 : 0)) * bytes;
}

std::int64_t zero_point_bytes_of(const DtypeRow& format, std::int64_t groups) {
    return format.affine ? row_bytes_of(format, groups) : 0;
}

std::int64_t groups_in_row(const QuantisationScheme& scheme, std::int64_t columns) {
    return scheme.group == ScaleGroup::block ? (columns + scale_block - 1) / scale_block : 1;
}

/// Calls visit(group, first, count) for the runs of numbers that share a scale.
template <class Visit>
void for_each_group(const QuantisationScheme& scheme, const MatrixExtents& extents, Visit visit) {
    if (extents.elements() == 0) return;
    if (scheme.group == ScaleGroup::none || scheme.group == ScaleGroup::tensor) {
        visit(std::int64_t{0}, std::int64_t{0}, extents.elements());
        return;
    }
    const std::int64_t in_row = groups_in_row(scheme, extents.columns);
    const std::int64_t length = scheme.group == ScaleGroup::row ? extents.columns : scale_block;
    for (std::int64_t r = 0; r < extents.rows; ++r)
        for (std::int64_t g = 0; g < in_row; ++g)
            visit(r * in_row + g, r * extents.columns + g * length,
                  std::min(length, extents.columns - g * length));
}

std::span<const float> part(std::span<const float> numbers, std::int64_t first,
                            std::int64_t count) {
    return numbers.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

std::uint64_t encoded(const DtypeRow& format, const Scaling& scaling, float number) {
    return format.encode(format, static_cast<double>(number) / scaling.divisor,
                         static_cast<double>(scaling.zero_point));
}

void write_bytes(std::uint8_t* to, std::uint64_t value, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = static_cast<std::uint8_t>(value >> (byte_bits * static_cast<std::uint32_t>(i)));
}
std::uint64_t read_bytes(const std::uint8_t* from, std::int64_t count) {
    std::uint64_t value = 0;
    for (std::int64_t i = 0; i < count; ++i)
        value |= std::uint64_t{from[i]} << (byte_bits * static_cast<std::uint32_t>(i));
    return value;
}

void write_code(std::uint8_t* bytes, const DtypeRow& format, std::int64_t column,
                std::uint64_t code) {
    if (format.bits >= byte_bits) {
        const std::int64_t width = format.bits / byte_bits;
        write_bytes(bytes + column * width, code, width);
        return;
    }
    const std::int64_t in_byte = byte_bits / format.bits;
    const auto shift = static_cast<std::uint32_t>(column % in_byte) * format.bits;
    bytes[column / in_byte] = static_cast<std::uint8_t>(bytes[column / in_byte] | code << shift);
}

std::uint64_t read_code(const std::uint8_t* bytes, const DtypeRow& format, std::int64_t column) {
    if (format.bits >= byte_bits) {
        const std::int64_t width = format.bits / byte_bits;
        return read_bytes(bytes + column * width, width);
    }
    const std::int64_t in_byte = byte_bits / format.bits;
    const auto shift = static_cast<std::uint32_t>(column % in_byte) * format.bits;
    return std::uint64_t{bytes[column / in_byte]} >> shift & ((1U << format.bits) - 1U);
}

/// Ternary numbers, of zeros and one magnitude, become others of the same codes whose mean
/// magnitude is that one. Zeros make their own mean smaller.
void spread_scale(const ScaleRule& rule, double counted, std::span<float> group) {
    const auto is_zero = [](float x) { return x == 0.0F; };
    const auto others =
        static_cast<double>(std::ssize(group) - std::ranges::count_if(group, is_zero));
    if (others == 0.0) return;
    const float scale = std::fabs(*std::ranges::find_if_not(group, is_zero));
    // Between two powers of two, a mean that is rounded stays between them.
    const double total = static_cast<double>(scale) * counted * (rule.power_of_two ? 1.5 : 1.0);
    const double share = std::min(total / others, largest_float / 2.0);
    float* last = nullptr;
    for (float& x : group)
        if (!is_zero(x)) *(last = &x) = std::copysign(static_cast<float>(share), x);
    // With what rounding leaves of the sum.
    const double rest = total - (others - 1.0) * static_cast<double>(static_cast<float>(share));
    *last = std::copysign(static_cast<float>(std::clamp(rest, 0.75 * share, 1.25 * share)), *last);
}

}  // namespace

QuantisationScheme::QuantisationScheme(Dtype used, ScaleGroup scales, ScaleRule how)
    : dtype(used), group(scales), rule(how) {
    const DtypeRow& format = row(used);
    const std::string asked = std::string(name(used)) + " is asked for with scales of " +
                              std::string(scale_group_names[static_cast<std::size_t>(scales)]);
    if ((format.group == ScaleGroup::none) != (scales == ScaleGroup::none))
        throw ConfigError(asked + " (the format has " +
                          (format.group == ScaleGroup::none ? "no scales) use \"none\""
                                                            : "scales) use tensor, row or block"));
    if (used == Dtype::q4_0 && scales != ScaleGroup::block)
        throw ConfigError(asked +
                          " (q4_0 is a format of blocks) use \"block\", or the format int4");
    if (!(how.clip > 0.0 && how.clip <= 1.0))
        throw ConfigError("a clip of " + std::to_string(how.clip) +
                          " is no share of a range (a share is above 0 and at most 1) use 1 to "
                          "clip nothing");
}

QuantisationScheme::QuantisationScheme(Dtype used, Scales scales) : QuantisationScheme(used) {
    if (scales == Scales::format || !takes_scales(used)) return;
    group = scales == Scales::tensor    ? ScaleGroup::tensor
            : scales == Scales::channel ? ScaleGroup::row
                                        : ScaleGroup::block;
    rule.power_of_two = scales == Scales::mx;
}

std::int64_t QuantisedMatrix::row_bytes() const {
    return row_bytes_of(row(scheme.dtype), extents.columns);
}

std::int64_t QuantisedMatrix::zero_point_bytes() const {
    return zero_point_bytes_of(row(scheme.dtype), group_count(scheme, extents));
}

std::int64_t QuantisedMatrix::bytes() const {
    return stored_bytes(scheme, extents);
}

Scaling QuantisedMatrix::scaling(std::int64_t group) const {
    if (scales.empty()) return {};
    const float scale = scales[static_cast<std::size_t>(group)];
    Scaling result{.scale = scale, .zero_point = 0, .divisor = static_cast<double>(scale)};
    if (const DtypeRow& format = row(scheme.dtype); format.affine)
        result.zero_point = read_code(zero_points.data(), format, group);
    return result;
}

std::uint64_t QuantisedMatrix::code(std::int64_t r, std::int64_t column) const {
    CAMBRIAN_EXPECT(r >= 0 && r < extents.rows && column >= 0 && column < extents.columns);
    return read_code(codes.data() + r * row_bytes(), row(scheme.dtype), column);
}

std::int64_t group_count(const QuantisationScheme& scheme, const MatrixExtents& extents) {
    if (scheme.group == ScaleGroup::none || extents.elements() == 0) return 0;
    if (scheme.group == ScaleGroup::tensor) return 1;
    return extents.rows * groups_in_row(scheme, extents.columns);
}

std::int64_t stored_bytes(const QuantisationScheme& scheme, const MatrixExtents& extents) {
    const DtypeRow& format = row(scheme.dtype);
    const std::int64_t groups = group_count(scheme, extents);
    return extents.rows * row_bytes_of(format, extents.columns) + groups * format.scale_bytes +
           zero_point_bytes_of(format, groups);
}

QuantisedMatrix quantise(const QuantisationScheme& scheme, const MatrixExtents& extents,
                         std::span<const float> numbers) {
    CAMBRIAN_EXPECT(static_cast<std::int64_t>(numbers.size()) == extents.elements());
    const DtypeRow& format = row(scheme.dtype);
    QuantisedMatrix result{
        .scheme = scheme, .extents = extents, .codes = {}, .scales = {}, .zero_points = {}};
    const std::int64_t row_bytes = result.row_bytes();
    const std::int64_t groups = group_count(scheme, extents);
    result.codes.resize(static_cast<std::size_t>(extents.rows * row_bytes));
    result.scales.resize(static_cast<std::size_t>(groups));
    result.zero_points.resize(static_cast<std::size_t>(zero_point_bytes_of(format, groups)));
    for_each_group(
        scheme, extents, [&](std::int64_t group, std::int64_t first, std::int64_t count) {
            const Scaling scaling =
                format.scaling(format, scheme.rule, part(numbers, first, count));
            if (groups > 0) result.scales[static_cast<std::size_t>(group)] = scaling.scale;
            if (format.affine)
                write_code(result.zero_points.data(), format, group, scaling.zero_point);
            for (std::int64_t i = first; i < first + count; ++i)
                write_code(result.codes.data() + i / extents.columns * row_bytes, format,
                           i % extents.columns,
                           encoded(format, scaling, numbers[static_cast<std::size_t>(i)]));
        });
    return result;
}

void dequantise(const QuantisedMatrix& matrix, std::span<float> numbers) {
    const MatrixExtents& extents = matrix.extents;
    CAMBRIAN_EXPECT(static_cast<std::int64_t>(numbers.size()) == extents.elements());
    const DtypeRow& format = row(matrix.scheme.dtype);
    const std::int64_t row_bytes = matrix.row_bytes();
    for_each_group(
        matrix.scheme, extents, [&](std::int64_t group, std::int64_t first, std::int64_t count) {
            const Scaling scaling = matrix.scaling(group);
            for (std::int64_t i = first; i < first + count; ++i)
                numbers[static_cast<std::size_t>(i)] =
                    decoded(format, scaling,
                            read_code(matrix.codes.data() + i / extents.columns * row_bytes, format,
                                      i % extents.columns));
        });
}

void round_to_codes(const QuantisationScheme& scheme, const MatrixExtents& extents,
                    std::span<float> numbers) {
    CAMBRIAN_EXPECT(static_cast<std::int64_t>(numbers.size()) == extents.elements());
    const DtypeRow& format = row(scheme.dtype);
    for_each_group(scheme, extents, [&](std::int64_t, std::int64_t first, std::int64_t count) {
        const Scaling scaling = format.scaling(format, scheme.rule, part(numbers, first, count));
        for (std::int64_t i = first; i < first + count; ++i) {
            float& number = numbers[static_cast<std::size_t>(i)];
            number = decoded(format, scaling, encoded(format, scaling, number));
        }
    });
}

void absorb_clip(const QuantisationScheme& scheme, const MatrixExtents& extents,
                 std::span<float> numbers) {
    const std::vector<float> given(numbers.begin(), numbers.end());
    round_to_codes(scheme, extents, numbers);
    if (scheme.dtype != Dtype::ternary) return;
    for_each_group(scheme, extents, [&](std::int64_t, std::int64_t first, std::int64_t count) {
        const auto counted = std::ranges::count_if(part(given, first, count),
                                                   [](float x) { return std::isfinite(x); });
        spread_scale(
            scheme.rule, static_cast<double>(counted),
            numbers.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
    });
}

QuantisationError quantisation_error(std::span<const float> numbers,
                                     std::span<const float> stored) {
    CAMBRIAN_EXPECT(numbers.size() == stored.size());
    QuantisationError error;
    double product = 0.0;
    double squares = 0.0;
    double stored_squares = 0.0;
    double difference_squares = 0.0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto a = static_cast<double>(numbers[i]);
        const auto b = static_cast<double>(stored[i]);
        if (!std::isfinite(a) || !std::isfinite(b)) {
            ++error.not_finite;
            continue;
        }
        ++count;
        product += a * b;
        squares += a * a;
        stored_squares += b * b;
        difference_squares += (a - b) * (a - b);
        error.largest = std::max(error.largest, std::fabs(a - b));
    }
    const double lengths = std::sqrt(squares) * std::sqrt(stored_squares);
    if (lengths > 0.0)
        error.cosine = product / lengths;
    else if (squares > 0.0 || stored_squares > 0.0)
        error.cosine = 0.0;
    if (count > 0) error.rms = std::sqrt(difference_squares / static_cast<double>(count));
    return error;
}

}  // namespace cambrian
