#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

// What layers share about the shape of a row: the axes of one element of the batch, without batch
// and time. Vectors have rows [f], convolutions [C, L], [C, H, W] or [C, D, H, W].
//
// A layer of vectors takes all elements of a row in row-major order, such as those of an image
// after a convolution. When it is narrower it takes each group of last axes that have as many
// elements as it is wide: each vector of a sequence [T, f] when it is f wide.
namespace cambrian {

/// The widest layer: large enough for any use, small enough that no weight count overflows.
inline constexpr std::int64_t widest_layer = largest_count;

/// "[.., 3, 8, 8]"
[[nodiscard]] std::string rows_of(const Shape& row);
[[nodiscard]] std::string rows_of(std::int64_t width);
/// All the elements of a row as one vector.
[[nodiscard]] Shape flat(const Shape& row);

/// Fills a width that was left at 0 with all elements of the input. Throws ShapeError naming the
/// layer, the field and both shapes when no last axes have that many elements, or when the width is
/// out of range.
void resolve_width(std::string_view layer, std::string_view field, std::int64_t& width,
                   const Shape& input);
/// The same of a layer that takes the whole row, such as one with a state.
void resolve_whole_row(std::string_view layer, std::string_view field, std::int64_t& width,
                       const Shape& input);
/// A row in which the axes that a layer of vectors takes are replaced by one of `out`.
[[nodiscard]] Shape with_width(const Shape& input, std::int64_t in, std::int64_t out);
/// Throws ShapeError unless the width that a layer chooses for its output was given.
void require_width(std::string_view layer, std::string_view field, std::int64_t width);
/// Throws ShapeError unless a width is in the range of widths.
void require_range(std::string_view layer, std::string_view field, std::int64_t width);
/// Throws ShapeError when the text that says what is wrong with a layer's fields is not empty.
void require_no_fault(std::string_view layer, std::string_view fault);
/// Why a norm's epsilon cannot be used, or an empty text.
[[nodiscard]] std::string_view epsilon_fault(float epsilon);

/// Why a temperature cannot be used, or an empty text.
[[nodiscard]] std::string_view temperature_fault(float temperature);

/// x [.., row..] with the axes that a layer of vectors of that width takes as one.
[[nodiscard]] Var as_vectors(Var x, std::int64_t width, const Shape& row);
/// x itself where it has the shape.
[[nodiscard]] Var shaped(Var x, const Shape& shape);
/// x [leading.., row..] as [leading.., to..].
[[nodiscard]] Var shape_rows(Var x, int row_rank, const Shape& to);
/// A shape [leading.., row..].
[[nodiscard]] Shape with_leading(std::span<const std::int64_t> leading, const Shape& row);

/// x [.., in] × weight [out, in] → [.., out], as one product over all rows.
[[nodiscard]] Var project(Var x, Var weight);

}  // namespace cambrian
