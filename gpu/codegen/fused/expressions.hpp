#pragma once

#include <cstdint>
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

/// A function of words: what an elementwise op computes for its types.
struct WordFunction {
    std::uint32_t number = 0;  ///< Among the cases of elementwise_source.
    /// Whether one pipeline has all such functions and learns the number when it runs: those of
    /// integers and booleans, which are cheap and rare. Others are pipelines of their own.
    bool chosen_late = false;

    /// Specialization constant 3: the number, or that it comes with the run.
    [[nodiscard]] std::uint32_t constant() const { return chosen_late ? ~0U : number; }
    bool operator==(const WordFunction&) const = default;
};

/// The function that hands its operand on.
inline constexpr WordFunction copy_function;

/// The function of an elementwise op (or activate). Ops that compute the same of the same words
/// share one.
/// @param types of the operands.
[[nodiscard]] WordFunction word_function(Op op, std::span<const ValueType> types, ValueType result);

/// The one text of all elementwise kernels (shaders/elementwise/elementwise.glsl): every op for all
/// types that it takes.
[[nodiscard]] const std::string& elementwise_source();

}  // namespace cambrian::gpu
