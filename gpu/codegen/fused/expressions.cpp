#include "cambrian/gpu/codegen/fused/expressions.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::gpu {
namespace {

/// The function of shaders/ops.glsl that computes an op; GLSL picks the overload for the types.
struct ExpressionRow {
    Op op = Op::count_;
    std::string_view function;
};

/// The value itself.
constexpr std::string_view as_it_is = "";

// clang-format off
constexpr std::array expression_rows{
    ExpressionRow{Op::neg, "op_neg"},
    ExpressionRow{Op::abs, "op_abs"},
    ExpressionRow{Op::sign, "op_sign"},
    ExpressionRow{Op::round, "op_round"},
    ExpressionRow{Op::floor, "op_floor"},
    ExpressionRow{Op::exp, "op_exp"},
    ExpressionRow{Op::log, "op_log"},
    ExpressionRow{Op::sqrt, "op_sqrt"},
    ExpressionRow{Op::rsqrt, "op_rsqrt"},
    ExpressionRow{Op::reciprocal, "op_reciprocal"},
    ExpressionRow{Op::sin, "op_sin"},
    ExpressionRow{Op::cos, "op_cos"},
    ExpressionRow{Op::tanh, "op_tanh"},
    ExpressionRow{Op::sigmoid, "op_sigmoid"},
    ExpressionRow{Op::erf, "op_erf"},
    ExpressionRow{Op::log1p, "op_log1p"},
    ExpressionRow{Op::expm1, "op_expm1"},
    ExpressionRow{Op::is_finite, "op_is_finite"},
    ExpressionRow{Op::logical_not, "op_logical_not"},
    ExpressionRow{Op::cast, as_it_is},  // Or a conversion, by the types.
    ExpressionRow{Op::stop_gradient, as_it_is},
    ExpressionRow{Op::add, "op_add"},
    ExpressionRow{Op::sub, "op_sub"},
    ExpressionRow{Op::mul, "op_mul"},
    ExpressionRow{Op::div, "op_div"},
    ExpressionRow{Op::pow, "op_pow"},
    ExpressionRow{Op::min, "op_min"},
    ExpressionRow{Op::max, "op_max"},
    ExpressionRow{Op::less, "op_less"},
    ExpressionRow{Op::equal, "op_equal"},
    ExpressionRow{Op::logical_and, "op_logical_and"},
    ExpressionRow{Op::logical_or, "op_logical_or"},
    ExpressionRow{Op::select, "op_select"},
    ExpressionRow{Op::activate, "op_activate"},
};
// clang-format on

// The elementwise ops stand together in the enumeration; activate comes with the fused ones.
constexpr bool covers_elementwise_ops() {
    constexpr auto first = static_cast<std::size_t>(Op::neg);
    constexpr auto last = static_cast<std::size_t>(Op::select);
    if (expression_rows.size() != last - first + 2) return false;
    for (std::size_t i = 0; i + 1 < expression_rows.size(); ++i)
        if (static_cast<std::size_t>(expression_rows[i].op) != first + i) return false;
    return expression_rows.back().op == Op::activate;
}
static_assert(covers_elementwise_ops(), "an op has no expression or a row is out of order");

std::string_view cast_function(ValueType from, ValueType to) {
    if (from == to) return as_it_is;
    if (from == ValueType::real)
        return to == ValueType::integer ? "op_real_to_integer" : "op_real_to_boolean";
    if (to == ValueType::real) return "op_integer_to_real";
    return to == ValueType::boolean ? "op_integer_to_boolean" : as_it_is;
}

std::string_view function_of(Op op, ValueType from, ValueType to) {
    if (op == Op::cast) return cast_function(from, to);
    if (op == Op::activate) return expression_rows.back().function;
    const std::size_t index = static_cast<std::size_t>(op) - static_cast<std::size_t>(Op::neg);
    CAMBRIAN_EXPECT(index < expression_rows.size() && expression_rows[index].op == op);
    return expression_rows[index].function;
}

std::string bits_literal(float value) {
    return fmt::format("uintBitsToFloat(0x{:08X}U)", std::bit_cast<std::uint32_t>(value));
}

}  // namespace

std::string_view glsl_type(ValueType type) {
    return type == ValueType::real ? "float" : "int";
}

std::string expression(Op op, std::span<const std::string> operands,
                       std::span<const ValueType> types, ValueType result) {
    CAMBRIAN_EXPECT(!operands.empty() && operands.size() == types.size());
    const std::string_view function = function_of(op, types[0], result);
    if (function.empty()) return operands[0];
    return fmt::format("{}({})", function, fmt::join(operands, ", "));
}

std::string literal(float value) {
    // glslang reads a decimal as double and rounds it: the shortest decimal of a float survives
    // that nearly always, and what does not is written as bits, like a zero's sign.
    if (!std::isnormal(value))
        return std::bit_cast<std::uint32_t>(value) == 0 ? "0.0" : bits_literal(value);
    std::string text = fmt::format("{}", std::fabs(value));
    if (static_cast<float>(std::strtod(text.c_str(), nullptr)) != std::fabs(value))
        return bits_literal(value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return value < 0.0F ? "(-" + text + ")" : text;
}

}  // namespace cambrian::gpu
