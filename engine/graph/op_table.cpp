#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/op.hpp"
#include "cambrian/engine/graph/op_rules.hpp"

namespace cambrian {
namespace {

namespace shape = shape_rule;
namespace type = type_rule;
namespace grad = gradient_rule;

constexpr OpRow source(Op op, std::string_view name, decltype(OpRow::shape) shapes,
                       decltype(OpRow::type) types, std::string_view meaning) {
    return {.op = op,
            .name = name,
            .arity = 0,
            .shape = shapes,
            .type = types,
            .batch = BatchRule::source,
            .differentiable = false,
            .meaning = meaning};
}

/// An elementwise op; without a gradient rule it is piecewise constant.
constexpr OpRow elementwise(Op op, std::string_view name, int arity, decltype(OpRow::type) types,
                            decltype(OpRow::gradient) gradient, std::string_view meaning) {
    return {.op = op,
            .name = name,
            .arity = arity,
            .shape = arity == 1 ? shape::same : shape::broadcast_operands,
            .type = types,
            .gradient = gradient,
            .differentiable = gradient != nullptr,
            .elementwise = true,
            .meaning = meaning};
}

constexpr OpRow general(Op op, std::string_view name, int arity, decltype(OpRow::shape) shapes,
                        decltype(OpRow::type) types, decltype(OpRow::gradient) gradient,
                        std::string_view meaning) {
    return {.op = op,
            .name = name,
            .arity = arity,
            .shape = shapes,
            .type = types,
            .gradient = gradient,
            .differentiable = gradient != nullptr,
            .meaning = meaning};
}

constexpr std::array<OpRow, op_count> rows{
    source(Op::input, "input", shape::input, type::input, "bound by the caller at run time"),
    source(Op::constant, "constant", shape::constant, type::constant, "a tensor held by the graph"),
    source(Op::iota, "iota", shape::iota, type::integer, "0, 1, .. length - 1"),
    general(Op::random, "random", 2, shape::random, type::random, nullptr,
            "uniforms in [0, 1): draw d of id i is word d % 4 of philox({d / 4 low, d / 4 high, i, "
            "0}, key)"),

    elementwise(Op::neg, "neg", 1, type::numeric, grad::neg, "-x"),
    elementwise(Op::abs, "abs", 1, type::numeric, grad::abs, "|x|; gradient sign(x), 0 at 0"),
    elementwise(Op::sign, "sign", 1, type::numeric, nullptr, "1 for x > 0, -1 for x < 0, else 0"),
    elementwise(Op::round, "round", 1, type::real, nullptr, "nearest integer, ties to even"),
    elementwise(Op::floor, "floor", 1, type::real, nullptr, "largest integer not above x"),
    elementwise(Op::exp, "exp", 1, type::real, grad::exp, "e^x"),
    elementwise(Op::log, "log", 1, type::real, grad::log, "natural logarithm"),
    elementwise(Op::sqrt, "sqrt", 1, type::real, grad::sqrt, "x^(1/2)"),
    elementwise(Op::rsqrt, "rsqrt", 1, type::real, grad::rsqrt, "x^(-1/2)"),
    elementwise(Op::reciprocal, "reciprocal", 1, type::real, grad::reciprocal, "1 / x"),
    elementwise(Op::sin, "sin", 1, type::real, grad::sin, "sine of radians"),
    elementwise(Op::cos, "cos", 1, type::real, grad::cos, "cosine of radians"),
    elementwise(Op::tanh, "tanh", 1, type::real, grad::tanh, "hyperbolic tangent"),
    elementwise(Op::sigmoid, "sigmoid", 1, type::real, grad::sigmoid, "1 / (1 + e^-x)"),
    elementwise(Op::is_finite, "is_finite", 1, type::real_test, nullptr,
                "neither infinite nor NaN"),
    elementwise(Op::logical_not, "logical_not", 1, type::boolean, nullptr, "not x"),
    elementwise(Op::cast, "cast", 1, type::cast, grad::cast,
                "real to integer truncates toward zero; to boolean is x != 0"),
    elementwise(Op::stop_gradient, "stop_gradient", 1, type::same, nullptr, "x, with no gradient"),

    elementwise(Op::add, "add", 2, type::numeric, grad::add, "a + b"),
    elementwise(Op::sub, "sub", 2, type::numeric, grad::sub, "a - b"),
    elementwise(Op::mul, "mul", 2, type::numeric, grad::mul, "a b"),
    elementwise(Op::div, "div", 2, type::real, grad::div, "a / b, IEEE"),
    elementwise(Op::min, "min", 2, type::numeric, grad::min, "a < b ? a : b; ties and NaN take b"),
    elementwise(Op::max, "max", 2, type::numeric, grad::max, "a > b ? a : b; ties and NaN take b"),
    elementwise(Op::less, "less", 2, type::numeric_test, nullptr, "a < b"),
    elementwise(Op::equal, "equal", 2, type::equality, nullptr, "a == b"),
    elementwise(Op::logical_and, "logical_and", 2, type::boolean, nullptr, "a and b"),
    elementwise(Op::logical_or, "logical_or", 2, type::boolean, nullptr, "a or b"),
    elementwise(Op::select, "select", 3, type::select, grad::select, "condition ? a : b"),

    general(Op::reduce_sum, "reduce_sum", 1, shape::reduce, type::numeric, grad::reduce_sum,
            "sum along an axis, from its first element to its last; 0 when empty"),
    general(Op::reduce_max, "reduce_max", 1, shape::reduce_nonempty, type::numeric,
            grad::reduce_max,
            "first maximum along an axis: m = x0, then x > m ? x : m; its gradient goes there"),
    general(Op::argmax, "argmax", 1, shape::reduce_nonempty, type::index_of, nullptr,
            "index of the element reduce_max takes"),

    general(Op::reshape, "reshape", 1, shape::reshape, type::same, grad::reshape,
            "the same elements, other extents"),
    general(Op::permute, "permute", 1, shape::permute, type::same, grad::permute,
            "axis i is operand axis order[i]"),
    general(Op::broadcast, "broadcast", 1, shape::broadcast, type::same, grad::broadcast,
            "repeats axes of extent 1 and adds leading axes"),
    general(Op::slice, "slice", 1, shape::slice, type::same, grad::slice,
            "elements [start, start + length) of an axis"),
    general(Op::pad, "pad", 1, shape::pad, type::same, grad::pad,
            "zeros before and after one axis"),
    general(Op::concat, "concat", -1, shape::concat, type::same, grad::concat,
            "parts joined along an axis"),

    general(Op::matmul, "matmul", 2, shape::matmul, type::real, grad::matmul,
            "sum over k of a[.., m, k] b[.., k, n], k ascending from 0; leading axes broadcast"),
    general(Op::gather, "gather", 2, shape::gather, type::gather, grad::gather,
            "rows of a table at indices"),
    general(Op::scatter_add, "scatter_add", 2, shape::scatter_add, type::scatter_add,
            grad::scatter_add, "rows added into zeros at indices, in index order"),
    OpRow{.op = Op::scan,
          .name = "scan",
          .arity = -1,
          .shape = shape::scan,
          .type = type::scan,
          .batch = BatchRule::body,
          .gradient = grad::scan,
          .result_count = scan_result_count,
          .meaning = "a body repeated over steps; see ScanAttribute"},

    OpRow{.op = Op::activate,
          .name = "activate",
          .arity = 2,
          .shape = shape::activate,
          .type = type::activate,
          .elementwise = true,
          .lowering = lower_activate,
          .meaning =
              "linear x, relu max(x, 0), silu x sigmoid(x), gelu (0.5 x)(1 + tanh(sqrt(2/pi) "
              "(x + 0.044715 ((x x) x)))), tanh, sigmoid by code 0 to 5; any other code is linear"},
};

constexpr bool is_complete(const OpRow& r) {
    const bool has_gradient = r.differentiable == (r.gradient != nullptr || r.lowering != nullptr);
    return !r.name.empty() && !r.meaning.empty() && r.shape != nullptr && r.type != nullptr &&
           r.arity >= -1 && has_gradient &&
           (r.batch == BatchRule::body) == (r.result_count != nullptr);
}

constexpr bool covers_every_op() {
    for (std::size_t i = 0; i < op_count; ++i)
        if (rows[i].op != static_cast<Op>(i) || !is_complete(rows[i])) return false;
    return true;
}
static_assert(covers_every_op(), "a row of the op table is missing, out of order or incomplete");

}  // namespace

std::span<const OpRow, op_count> op_table() {
    return rows;
}

const OpRow& row(Op op) {
    CAMBRIAN_ASSERT(op < Op::count_);
    return rows[static_cast<std::size_t>(op)];
}

std::string_view name(Op op) {
    return row(op).name;
}

std::string_view name(Activation activation) {
    CAMBRIAN_ASSERT(static_cast<std::size_t>(activation) < activation_names.size());
    return activation_names[static_cast<std::size_t>(activation)];
}

}  // namespace cambrian
