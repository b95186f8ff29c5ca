#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/weights/dtype.hpp"

namespace cambrian {

/// How a matrix becomes codes.
struct QuantisationScheme {
    /// The format with its own group.
    explicit QuantisationScheme(Dtype used) : dtype(used), group(row(used).group) {}
    /// Throws ConfigError where a format has scales and the group is none, or the other way round,
    /// and for q4_0 in anything but blocks.
    QuantisationScheme(Dtype used, ScaleGroup scales, ScaleRule how = {});
    /// With other scales where the format takes them.
    QuantisationScheme(Dtype used, Scales scales);

    Dtype dtype;
    ScaleGroup group;
    ScaleRule rule{};
};

/// Rows of numbers in a row-major span.
struct MatrixExtents {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    [[nodiscard]] std::int64_t elements() const { return rows * columns; }
    bool operator==(const MatrixExtents&) const = default;
};

/// Codes of a matrix with the scales of its groups, and where the format has them zero points.
struct QuantisedMatrix {
    QuantisationScheme scheme{Dtype::float32};
    MatrixExtents extents;
    std::vector<std::uint8_t> codes;        ///< Low bits first, rows padded to whole bytes.
    std::vector<float> scales;              ///< Of the groups, row by row.
    std::vector<std::uint8_t> zero_points;  ///< Likewise, as codes in one row.

    /// Bytes of a row of codes.
    [[nodiscard]] std::int64_t row_bytes() const;
    /// Bytes of the zero points of all groups.
    [[nodiscard]] std::int64_t zero_point_bytes() const;
    /// As stored: codes, scales (float32; q4_0: float16) and zero points.
    [[nodiscard]] std::int64_t bytes() const;
    [[nodiscard]] Scaling scaling(std::int64_t group) const;
    [[nodiscard]] std::uint64_t code(std::int64_t row, std::int64_t column) const;
};

/// How many groups a matrix has.
[[nodiscard]] std::int64_t group_count(const QuantisationScheme& scheme,
                                       const MatrixExtents& extents);
/// Bytes that a matrix takes without making it.
[[nodiscard]] std::int64_t stored_bytes(const QuantisationScheme& scheme,
                                        const MatrixExtents& extents);

/// Contract: as many numbers as the extents say.
[[nodiscard]] QuantisedMatrix quantise(const QuantisationScheme& scheme,
                                       const MatrixExtents& extents,
                                       std::span<const float> numbers);
/// The numbers that the codes stand for. Contract: room for them.
void dequantise(const QuantisedMatrix& matrix, std::span<float> numbers);
/// Both at once, in place, without codes: what a matrix is as its codes stand for it.
void round_to_codes(const QuantisationScheme& scheme, const MatrixExtents& extents,
                    std::span<float> numbers);

/// Clips numbers, in place: without a clip they now have the codes that they had with that of the
/// scheme, and the scales, to a unit in the last place. Where a scale with a zero point is a power
/// of two, it may be another one.
void absorb_clip(const QuantisationScheme& scheme, const MatrixExtents& extents,
                 std::span<float> numbers);

/// How far numbers are from those that their codes stand for.
struct QuantisationError {
    double cosine = 1.0;  ///< Of the angle between both; 1 where both are zero.
    double largest = 0.0;
    double rms = 0.0;
    std::int64_t not_finite = 0;  ///< Numbers that were left out.
};
/// Contract: as many of one as of the other.
[[nodiscard]] QuantisationError quantisation_error(std::span<const float> numbers,
                                                   std::span<const float> stored);

}  // namespace cambrian
