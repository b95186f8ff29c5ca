#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/op.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

namespace cambrian {
namespace {

namespace shape = shape_rule;
namespace type = type_rule;
namespace grad = gradient_rule;

// The builders take their rules by reference: a row without a rule does not compile.
using ShapeRule = Shape(const OperandInfos&, const Attributes&, std::size_t);
using TypeRule = ValueType(const OperandInfos&, const Attributes&, std::size_t);
using GradientRule = void(GradientContext&);

constexpr OpInfo source(Op op, std::string_view name, ShapeRule& shapes, TypeRule& types,
                        std::string_view meaning) {
    return {.op = op,
            .name = name,
            .arity = 0,
            .shape = shapes,
            .type = types,
            .batch = BatchRule::source,
            .differentiable = false,
            .meaning = meaning};
}

/// Marks an op as piecewise constant or made of integers: no gradient flows through it.
struct NoGradient {};
constexpr NoGradient no_gradient;

constexpr OpInfo general(Op op, std::string_view name, int arity, ShapeRule& shapes,
                         TypeRule& types, NoGradient, std::string_view meaning) {
    return {.op = op,
            .name = name,
            .arity = arity,
            .shape = shapes,
            .type = types,
            .differentiable = false,
            .meaning = meaning};
}

constexpr OpInfo general(Op op, std::string_view name, int arity, ShapeRule& shapes,
                         TypeRule& types, GradientRule& gradient, std::string_view meaning) {
    OpInfo row = general(op, name, arity, shapes, types, no_gradient, meaning);
    row.gradient = gradient;
    row.differentiable = true;
    return row;
}

template <class Gradient>
constexpr OpInfo unary(Op op, std::string_view name, TypeRule& types, Gradient&& gradient,
                       std::string_view meaning) {
    OpInfo row = general(op, name, 1, shape::same, types, gradient, meaning);
    row.elementwise = row.exact = true;
    return row;
}

template <class Gradient>
constexpr OpInfo broadcasting(Op op, std::string_view name, int arity, TypeRule& types,
                              Gradient&& gradient, std::string_view meaning) {
    OpInfo row = general(op, name, arity, shape::broadcast_operands, types, gradient, meaning);
    row.elementwise = row.exact = true;
    return row;
}

/// Ops that move, choose or make elements and add none up.
constexpr OpInfo exact(OpInfo row) {
    row.exact = true;
    return row;
}

constexpr OpInfo may_fail(OpInfo row) {
    row.may_fail = true;
    return row;
}

using LoweringRule = std::vector<Var>(Graph&, std::span<const Var>, const Attributes&);

/// An op that is its lowering; it is differentiated through it unless it has a rule of its own.
constexpr OpInfo fused(Op op, std::string_view name, int arity, ShapeRule& shapes, TypeRule& types,
                       LoweringRule& lowering, std::string_view meaning) {
    return {.op = op,
            .name = name,
            .arity = arity,
            .shape = shapes,
            .type = types,
            .lowering = lowering,
            .meaning = meaning};
}

/// A fused op with a shorter gradient than that of its lowering.
constexpr OpInfo differentiated(OpInfo row, GradientRule& gradient) {
    row.gradient = gradient;
    return row;
}

constexpr OpInfo several(OpInfo row, std::size_t (&count)(const Attributes&)) {
    row.result_count = count;
    return row;
}

constexpr OpInfo several(OpInfo row, std::size_t (&count)(const Attributes&),
                         GradientRule& gradient) {
    row.result_count = count;
    row.gradient = gradient;
    return row;
}

constexpr std::array<OpInfo, op_count> rows{
    source(Op::input, "input", shape::input, type::input, "bound by the caller at run time"),
    source(Op::constant, "constant", shape::constant, type::constant, "a tensor held by the graph"),
    exact(source(Op::iota, "iota", shape::iota, type::integer, "0, 1, .. length - 1")),
    exact(general(
        Op::random, "random", 2, shape::random, type::random, no_gradient,
        "uniforms in [0, 1): draw d of id i is word d % 4 of philox({d / 4 low, d / 4 high, i, "
        "0}, key)")),

    unary(Op::neg, "neg", type::numeric, grad::neg, "-x"),
    unary(Op::abs, "abs", type::numeric, grad::abs, "|x|; gradient sign(x), 0 at 0"),
    unary(Op::sign, "sign", type::numeric, no_gradient, "1 for x > 0, -1 for x < 0, else 0"),
    unary(Op::round, "round", type::real, no_gradient, "nearest integer, ties to even"),
    unary(Op::floor, "floor", type::real, no_gradient, "largest integer not above x"),
    unary(Op::exp, "exp", type::real, grad::exp, "e^x"),
    unary(Op::log, "log", type::real, grad::log, "natural logarithm"),
    unary(Op::sqrt, "sqrt", type::real, grad::sqrt, "x^(1/2)"),
    unary(Op::rsqrt, "rsqrt", type::real, grad::rsqrt, "x^(-1/2)"),
    unary(Op::reciprocal, "reciprocal", type::real, grad::reciprocal, "1 / x"),
    unary(Op::sin, "sin", type::real, grad::sin, "sine of radians"),
    unary(Op::cos, "cos", type::real, grad::cos, "cosine of radians"),
    unary(Op::tanh, "tanh", type::real, grad::tanh, "hyperbolic tangent"),
    unary(Op::sigmoid, "sigmoid", type::real, grad::sigmoid, "1 / (1 + e^-x)"),
    unary(Op::erf, "erf", type::real, grad::erf,
          "2 / sqrt(pi) times the integral of e^(-t t) from 0 to x"),
    unary(Op::log1p, "log1p", type::real, grad::log1p, "ln(1 + x), exact near 0"),
    unary(Op::expm1, "expm1", type::real, grad::expm1, "e^x - 1, exact near 0"),
    unary(Op::is_finite, "is_finite", type::real_test, no_gradient, "neither infinite nor NaN"),
    unary(Op::logical_not, "logical_not", type::boolean, no_gradient, "not x"),
    unary(Op::cast, "cast", type::cast, grad::cast,
          "real to integer truncates toward zero, clamped to int32, NaN the lowest; to boolean is "
          "x != 0"),
    unary(Op::stop_gradient, "stop_gradient", type::same, no_gradient, "x, with no gradient"),

    broadcasting(Op::add, "add", 2, type::numeric, grad::add, "a + b"),
    broadcasting(Op::sub, "sub", 2, type::numeric, grad::sub, "a - b"),
    broadcasting(Op::mul, "mul", 2, type::numeric, grad::mul, "a b"),
    may_fail(broadcasting(Op::div, "div", 2, type::numeric, grad::div,
                          "a / b, IEEE; of integers toward zero, a divisor of 0 is an InputError")),
    broadcasting(Op::pow, "pow", 2, type::real, grad::pow,
                 "a^b with the special values of C; its gradient for b is 0 where a = 0"),
    broadcasting(Op::min, "min", 2, type::numeric, grad::min, "a < b ? a : b; ties and NaN take b"),
    broadcasting(Op::max, "max", 2, type::numeric, grad::max, "a > b ? a : b; ties and NaN take b"),
    broadcasting(Op::less, "less", 2, type::numeric_test, no_gradient, "a < b"),
    broadcasting(Op::equal, "equal", 2, type::equality, no_gradient, "a == b"),
    broadcasting(Op::logical_and, "logical_and", 2, type::boolean, no_gradient, "a and b"),
    broadcasting(Op::logical_or, "logical_or", 2, type::boolean, no_gradient, "a or b"),
    broadcasting(Op::select, "select", 3, type::select, grad::select, "condition ? a : b"),

    general(Op::reduce_sum, "reduce_sum", 1, shape::reduce, type::numeric, grad::reduce_sum,
            "sum along an axis, from its first element to its last; 0 when empty"),
    exact(general(
        Op::reduce_max, "reduce_max", 1, shape::reduce_nonempty, type::numeric, grad::reduce_max,
        "first maximum along an axis: m = x0, then x > m ? x : m; its gradient goes there")),
    exact(general(Op::argmax, "argmax", 1, shape::argmax, type::index_of, no_gradient,
                  "index of the element reduce_max takes")),
    general(Op::cumsum, "cumsum", 1, shape::cumsum, type::numeric, grad::cumsum,
            "running sums along an axis, in order; see CumsumAttribute"),
    exact(
        several(general(Op::sort, "sort", 1, shape::sort, type::sort, grad::sort,
                        "elements of an axis in a stable order, NaN above all, and their indices"),
                two_results)),

    exact(general(Op::reshape, "reshape", 1, shape::reshape, type::same, grad::reshape,
                  "the same elements, other extents")),
    exact(general(Op::permute, "permute", 1, shape::permute, type::same, grad::permute,
                  "axis i is operand axis order[i]")),
    exact(general(Op::broadcast, "broadcast", 1, shape::broadcast, type::same, grad::broadcast,
                  "repeats axes of extent 1 and adds leading axes")),
    exact(general(Op::slice, "slice", 1, shape::slice, type::same, grad::slice,
                  "elements [start, start + length) of an axis")),
    exact(general(Op::pad, "pad", 1, shape::pad, type::same, grad::pad,
                  "zeros before and after one axis")),
    exact(general(Op::concat, "concat", -1, shape::concat, type::same, grad::concat,
                  "parts joined along an axis")),
    exact(
        general(Op::flip, "flip", 1, shape::flip, type::same, grad::flip, "an axis from its end")),
    exact(general(Op::im2col, "im2col", 1, shape::im2col, type::real, grad::im2col,
                  "windows over the last axes, one row a tap; see Im2colAttribute")),
    general(Op::col2im, "col2im", 1, shape::col2im, type::real, grad::col2im,
            "taps added back to the elements they were read from, in order of tap"),
    exact(general(Op::encode, "encode", 1, shape::encode, type::encode, no_gradient,
                  "numbers as codes of a storage format, nearest, ties to even; see NumberFormat")),
    exact(general(Op::decode, "decode", 1, shape::decode, type::decode, no_gradient,
                  "codes of a storage format as numbers")),

    general(Op::matmul, "matmul", 2, shape::matmul, type::real, grad::matmul,
            "sum over k of a[.., m, k] b[.., k, n], k ascending from 0; leading axes broadcast"),
    may_fail(exact(general(Op::gather, "gather", 2, shape::gather, type::gather, grad::gather,
                           "rows of a table at indices"))),
    may_fail(general(Op::scatter_add, "scatter_add", 2, shape::scatter_add, type::scatter_add,
                     grad::scatter_add, "rows added into zeros at indices, in index order")),
    may_fail(exact(
        general(Op::take_along_axis, "take_along_axis", 2, shape::take_along_axis,
                type::take_along_axis, grad::take_along_axis,
                "elements of an axis at indices: y[.., i, ..] = x[.., index[.., i, ..], ..]"))),
    may_fail(general(Op::scatter_add_along_axis, "scatter_add_along_axis", 2,
                     shape::scatter_add_along_axis, type::scatter_add_along_axis,
                     grad::scatter_add_along_axis,
                     "elements added into zeros along an axis at indices, in order of position")),
    OpInfo{.op = Op::scan,
           .name = "scan",
           .arity = -1,
           .shape = shape::scan,
           .type = type::scan,
           .batch = BatchRule::body,
           .gradient = grad::scan,
           .result_count = scan_result_count,
           .meaning = "a body repeated over steps; see ScanAttribute"},

    OpInfo{.op = Op::interpret,
           .name = "interpret",
           .arity = 4,
           .shape = shape::interpret,
           .type = type::interpret,
           .differentiable = false,
           .result_count = interpret_result_count,
           .meaning =
               "one pass of the network that bytecode describes over every row: bytecode, weights, "
               "rows [.., in] and state [.., s] give outputs [.., out] and the new state"},

    OpInfo{
        .op = Op::activate,
        .name = "activate",
        .arity = 2,
        .shape = shape::activate,
        .type = type::activate,
        .elementwise = true,
        .lowering = lower_activate,
        .meaning =
            "linear x, relu max(x, 0), silu x sigmoid(x), gelu (0.5 x)(1 + tanh(sqrt(2/pi) "
            "(x + 0.044715 ((x x) x)))), tanh, sigmoid by code 0 to 5; any other code is linear"},
    OpInfo{.op = Op::matmul_epilogue,
           .name = "matmul_epilogue",
           .arity = -1,
           .shape = shape::matmul_epilogue,
           .type = type::matmul_epilogue,
           .lowering = lower_matmul_epilogue,
           .meaning =
               "activate(matmul(a, b) + bias, code), without bias or code where it has none; "
               "of decoded operands, and encoded, where they are codes"},
    OpInfo{.op = Op::fused,
           .name = "fused",
           .arity = -1,
           .shape = shape::fused,
           .type = type::fused,
           .lowering = lower_fused,
           .meaning = "elementwise nodes and reductions along the last axis as one node"},
    several(fused(Op::topk, "topk", 1, shape::topk, type::topk, lower_topk,
                  "the largest elements of an axis, largest first, ties by index, and their "
                  "indices"),
            two_results, grad::topk),
    differentiated(
        fused(Op::conv, "conv", -1, shape::conv, type::conv, lower_conv,
              "sum over channels of a group and taps of weights x, plus bias; see ConvAttribute"),
        grad::conv),
    several(
        fused(Op::attention, "attention", -1, shape::attention, type::attention, lower_attention,
              "softmax(scale q k^T) v over the keys each query sees, and the log-sum-exp of "
              "its scores"),
        two_results, grad::attention),
    several(
        fused(Op::attention_gradient, "attention_gradient", -1, shape::attention_gradient,
              type::attention_gradient, lower_attention_gradient,
              "gradients of q, k and v from q, k, v, log-sum-exp, the upstream of o, d = sum(do o) "
              "- dlse and valid: with P = exp(scale q k^T - lse): dv = P^T do, ds = P (do v^T - d),"
              " dq = scale ds k, dk = scale ds^T q"),
        attention_gradient_result_count),
    several(fused(Op::selective_scan, "selective_scan", 7, shape::selective_scan,
                  type::selective_scan, lower_selective_scan,
                  "h = exp(d a) h + w B u, y = sum over n of C h + skip u, with d = softplus(raw), "
                  "a = -exp(log) and w = (exp(d a) - 1) / a (zero-order hold) or d (Euler)"),
            two_results, grad::selective_scan),
    several(fused(Op::selective_scan_gradient, "selective_scan_gradient", 9,
                  shape::selective_scan_gradient, type::selective_scan_gradient,
                  lower_selective_scan_gradient,
                  "gradients of the seven operands from them and the upstreams of y and state"),
            selective_scan_gradient_result_count),
};

constexpr bool covers_every_op() {
    for (std::size_t i = 0; i < op_count; ++i)
        if (rows[i].op != static_cast<Op>(i) || rows[i].name.empty() || rows[i].meaning.empty())
            return false;
    return true;
}
static_assert(covers_every_op(), "a row of the op table is missing, out of order or incomplete");

}  // namespace

std::span<const OpInfo, op_count> op_table() {
    return rows;
}

const OpInfo& op_info(Op op) {
    CAMBRIAN_ASSERT(op < Op::count_);
    return rows[static_cast<std::size_t>(op)];
}

std::string_view name(Op op) {
    return op_info(op).name;
}

std::string_view name(Activation activation) {
    CAMBRIAN_ASSERT(static_cast<std::size_t>(activation) < activation_names.size());
    return activation_names[static_cast<std::size_t>(activation)];
}

}  // namespace cambrian
