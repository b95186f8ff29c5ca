#pragma once

#include <span>
#include <string>

#include "cambrian/engine/graph/op.hpp"

namespace cambrian::gpu {

/// GLSL type of a value: float, int (integer), or int holding 0 or 1 (boolean).
[[nodiscard]] std::string_view glsl_type(ValueType type);

/// The GLSL expression of an elementwise op (and activate) on operand expressions, from the table
/// of expressions: exactly what the CPU kernel of the op computes, on functions of
/// shaders/ops.glsl.
/// @param types of the operands; `result` tells a cast where to go.
[[nodiscard]] std::string expression(Op op, std::span<const std::string> operands,
                                     std::span<const ValueType> types, ValueType result);

/// A real number as a GLSL literal with exactly its bits, infinities and NaN too.
[[nodiscard]] std::string literal(float value);

}  // namespace cambrian::gpu
