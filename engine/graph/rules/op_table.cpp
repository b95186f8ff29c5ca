#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/op.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

namespace cambrian {
namespace {

namespace shape = shape_rule;
namespace type = type_rule;
namespace grad = gradient_rule;

/// A shape rule and the same in words.
struct Shapes {
    Shape (*rule)(const OperandInfos&, const Attributes&, std::size_t) = nullptr;
    std::string_view words;
};
constexpr Shapes operand_shape{shape::same, "the operand's"};
constexpr Shapes broadcast_shape{
    shape::broadcast_operands,
    "operands broadcast: axes count from the last, extents are equal or one of them is 1"};

/// A type rule and the same in words.
struct Types {
    ValueType (*rule)(const OperandInfos&, const Attributes&, std::size_t) = nullptr;
    std::string_view words;
};
constexpr Types reals{type::real, "real"};
constexpr Types numbers{type::numeric, "real or integer, all alike"};
constexpr Types booleans{type::boolean, "boolean"};
constexpr Types any_type{type::same, "any, kept"};
constexpr Types reals_tested{type::real_test, "real gives boolean"};

/// A rule of its own, none for what is piecewise constant or made of integers, or that of the
/// primitives a fused op stands for.
struct Gradient {
    void (*rule)(GradientContext&) = nullptr;
    bool flows = true;
    constexpr Gradient(void (&own_rule)(GradientContext&)) : rule(&own_rule) {}
    explicit constexpr Gradient(bool through) : flows(through) {}
};
constexpr Gradient no_gradient(false);
constexpr Gradient through_lowering(true);

constexpr std::string_view ieee = "IEEE 754";
constexpr std::string_view ieee_comparison = "the comparison of IEEE 754";
constexpr std::string_view own = "our own expansion, engine/core/elementary.inl";
constexpr std::string_view numpy = "NumPy";
constexpr std::string_view onnx = "ONNX";
constexpr std::string_view ours = "this project";
constexpr std::string_view small_floats =
    "IEEE 754, bfloat16, 8-bit floats: Micikevicius et al., 2022";

struct Words {
    std::string_view operands;
    std::string_view results;
    std::string_view source;
    std::string_view meaning;
};

constexpr int any_arity = -1;

constexpr OpInfo primitive(int arity, Shapes shapes, Types types, Gradient gradient, Words words) {
    OpInfo row;
    row.arity = arity;
    row.shape = shapes.rule;
    row.type = types.rule;
    row.gradient = gradient.rule;
    row.differentiable = gradient.flows;
    row.meaning = words.meaning;
    row.operands = words.operands;
    row.results = words.results;
    row.shapes = shapes.words;
    row.types = types.words;
    row.source = words.source;
    return row;
}

constexpr OpInfo source(Shapes shapes, Types types, std::string_view results,
                        std::string_view source, std::string_view meaning) {
    OpInfo row = primitive(0, shapes, types, no_gradient, {"none", results, source, meaning});
    row.batch = BatchRule::source;
    return row;
}

/// Ops that move, choose or make elements and add none up.
constexpr OpInfo exact(OpInfo row) {
    row.exact = true;
    return row;
}

constexpr OpInfo unary(Types types, Gradient gradient, std::string_view source,
                       std::string_view meaning) {
    return exact(primitive(1, operand_shape, types, gradient, {"x", "y", source, meaning}));
}

constexpr OpInfo binary(Types types, Gradient gradient, std::string_view source,
                        std::string_view meaning) {
    return exact(primitive(2, broadcast_shape, types, gradient, {"a, b", "y", source, meaning}));
}

constexpr OpInfo may_fail(OpInfo row) {
    row.may_fail = true;
    return row;
}

constexpr OpInfo several(std::size_t (&count)(const Attributes&), OpInfo row) {
    row.result_count = count;
    return row;
}

constexpr OpInfo with_body(OpInfo row) {
    row.batch = BatchRule::body;
    return row;
}

/// An op that is its lowering.
constexpr OpInfo fused(std::vector<Var> (&lowering)(Graph&, std::span<const Var>,
                                                    const Attributes&),
                       OpInfo row) {
    row.lowering = lowering;
    return row;
}

constexpr OpInfo named(Op op, std::string_view name, OpInfo row) {
    row.op = op;
    row.name = name;
    return row;
}

constexpr std::array<OpInfo, op_count> op_rows{
#define CAMBRIAN_OP(name, ...) named(Op::name, #name, __VA_ARGS__),
#include "cambrian/engine/graph/op_table.inl"
};

constexpr bool is_documented(const OpInfo& row) {
    return !row.meaning.empty() && !row.operands.empty() && !row.results.empty() &&
           !row.shapes.empty() && !row.types.empty() && !row.source.empty();
}
static_assert(std::ranges::all_of(op_rows, is_documented), "a row of the op table lacks a text");

}  // namespace

std::span<const OpInfo, op_count> op_table() {
    return op_rows;
}

const OpInfo& op_info(Op op) {
    CAMBRIAN_ASSERT(op < Op::count_);
    return op_rows[static_cast<std::size_t>(op)];
}

std::string_view name(Op op) {
    return op_info(op).name;
}

std::string_view name(Activation activation) {
    CAMBRIAN_ASSERT(static_cast<std::size_t>(activation) < activation_names.size());
    return activation_names[static_cast<std::size_t>(activation)];
}

std::string_view batch_text(const OpInfo& op) {
    constexpr std::array texts{"inputs as the caller says, all else is shared",
                               "one for each individual where an operand is",
                               "carries are per individual where the body makes them so"};
    return texts[static_cast<std::size_t>(op.batch)];
}

std::string_view gradient_text(const OpInfo& op) {
    if (!op.differentiable) return "none";
    return op.gradient != nullptr ? "rule" : "through lowering";
}

std::string_view data_errors_text(const OpInfo& op) {
    if (op.batch == BatchRule::body) return "where its body has them";
    return op.may_fail ? "yes" : "no";
}

}  // namespace cambrian
