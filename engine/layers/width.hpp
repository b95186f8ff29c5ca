#pragma once

#include <cstdint>
#include <string_view>

#include "cambrian/engine/graph/ops.hpp"

// What layers share about the width of their last axis.
namespace cambrian {

/// The widest layer: large enough for any use, small enough that no weight count overflows.
inline constexpr std::int64_t widest_layer = std::int64_t{1} << 24U;

/// Fills a width that was left at 0 from the input. Throws ShapeError naming the layer, the field
/// and both shapes when they differ, or when the width is out of range.
void resolve_width(std::string_view layer, std::string_view field, std::int64_t& width,
                   std::int64_t input_features);
/// Throws ShapeError unless the width that a layer chooses for its output was given.
void require_width(std::string_view layer, std::string_view field, std::int64_t width);
/// Throws ShapeError when the text that says what is wrong with a layer's fields is not empty.
void require_no_fault(std::string_view layer, std::string_view fault);
/// Why a norm's epsilon cannot be used, or an empty text.
[[nodiscard]] std::string_view epsilon_fault(float epsilon);

/// x [.., in] × weight [out, in] → [.., out], as one product over all rows.
[[nodiscard]] Var project(Var x, Var weight);

}  // namespace cambrian
