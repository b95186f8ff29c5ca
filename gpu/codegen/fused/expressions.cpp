#include "cambrian/gpu/codegen/fused/expressions.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::gpu {
namespace {

/// The value itself.
constexpr std::string_view as_it_is = "";

/// The GLSL function of every elementwise op; GLSL picks the overload for the types. Those of
/// engine/core/elementary.inl are own_<name>, the others stand in shaders/ops.glsl as op_<name>.
constexpr std::array<std::string_view, op_count> functions{
#define CAMBRIAN_OP(name, ...) as_it_is,
#define CAMBRIAN_ELEMENTWISE(name, ...) "op_" #name,
#define CAMBRIAN_REAL_FUNCTION(name, ...) "own_" #name,
#include "cambrian/engine/graph/op_table.inl"
};

std::string_view cast_function(ValueType from, ValueType to) {
    if (from == to) return as_it_is;
    if (from == ValueType::real)
        return to == ValueType::integer ? "op_real_to_integer" : "op_real_to_boolean";
    if (to == ValueType::real) return "op_integer_to_real";
    return to == ValueType::boolean ? "op_integer_to_boolean" : as_it_is;
}

std::string_view function_of(Op op, ValueType from, ValueType to) {
    CAMBRIAN_EXPECT(is_elementwise(op));
    if (op == Op::cast) return cast_function(from, to);
    return op == Op::stop_gradient ? as_it_is : functions[static_cast<std::size_t>(op)];
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
