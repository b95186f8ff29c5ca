#include "cambrian/engine/graph/rules/op_documentation.hpp"

namespace cambrian {
namespace {

constexpr std::string_view same_shape = "the operand's";
constexpr std::string_view broadcast_shape =
    "operands broadcast: axes count from the last, extents are equal or one of them is 1";
constexpr std::string_view real = "real";
constexpr std::string_view real_test = "real gives boolean";
constexpr std::string_view numeric = "real or integer, all alike";
constexpr std::string_view numeric_test = "real or integer, both alike, gives boolean";
constexpr std::string_view boolean = "boolean";
constexpr std::string_view any_type = "any, kept";
constexpr std::string_view ieee = "IEEE 754";
constexpr std::string_view own_functions = "our own expansion, engine/core/elementary.inl";
constexpr std::string_view numpy = "NumPy";
constexpr std::string_view onnx = "ONNX";

constexpr OpDocumentation unary(Op op, std::string_view types, std::string_view source) {
    return {op, "x", "y", same_shape, types, source};
}
constexpr OpDocumentation binary(Op op, std::string_view types, std::string_view source) {
    return {op, "a, b", "y", broadcast_shape, types, source};
}

constexpr std::array<OpDocumentation, op_count> documentation{
    OpDocumentation{Op::input, "none", "value", "the declared shape", "the declared type",
                    "this project"},
    OpDocumentation{Op::constant, "none", "value", "the tensor's", "the tensor's", "this project"},
    OpDocumentation{Op::iota, "none", "indices", "[length]", "integer", "APL"},
    OpDocumentation{Op::random, "key, ids", "uniforms", "key [2], ids [I..] give [I.., length]",
                    "integers give real", "Philox4x32-10: Salmon et al., 2011"},

    unary(Op::neg, numeric, ieee),
    unary(Op::abs, numeric, ieee),
    unary(Op::sign, numeric, numpy),
    unary(Op::round, real, ieee),
    unary(Op::floor, real, ieee),
    unary(Op::exp, real, own_functions),
    unary(Op::log, real, own_functions),
    unary(Op::sqrt, real, own_functions),
    unary(Op::rsqrt, real, own_functions),
    unary(Op::reciprocal, real, own_functions),
    unary(Op::sin, real, own_functions),
    unary(Op::cos, real, own_functions),
    unary(Op::tanh, real, own_functions),
    unary(Op::sigmoid, real, own_functions),
    unary(Op::erf, real, own_functions),
    unary(Op::log1p, real, own_functions),
    unary(Op::expm1, real, own_functions),
    unary(Op::is_finite, real_test, ieee),
    unary(Op::logical_not, boolean, numpy),
    unary(Op::cast, "any gives the type asked for", "this project"),
    unary(Op::stop_gradient, any_type, "this project"),

    binary(Op::add, numeric, ieee),
    binary(Op::sub, numeric, ieee),
    binary(Op::mul, numeric, ieee),
    binary(Op::div, numeric, "IEEE 754; integers as in C"),
    binary(Op::pow, real, "C, annex F"),
    binary(Op::min, numeric, "the comparison of IEEE 754"),
    binary(Op::max, numeric, "the comparison of IEEE 754"),
    binary(Op::less, numeric_test, ieee),
    binary(Op::equal, "any, both alike, gives boolean", ieee),
    binary(Op::logical_and, boolean, numpy),
    binary(Op::logical_or, boolean, numpy),
    OpDocumentation{Op::select, "condition, a, b", "y", broadcast_shape,
                    "a boolean and two of one type", "NumPy where"},

    OpDocumentation{Op::reduce_sum, "x", "y", "the operand's without the axis, or with it as 1",
                    numeric, numpy},
    OpDocumentation{Op::reduce_max, "x", "y",
                    "the operand's without the axis, or with it as 1; the axis is not empty",
                    numeric, numpy},
    OpDocumentation{Op::argmax, "x", "index",
                    "the operand's without the axis, or with it as 1; the axis is not empty",
                    "real or integer gives integer", numpy},
    OpDocumentation{Op::cumsum, "x", "y", same_shape, numeric, onnx},
    OpDocumentation{Op::sort, "x", "sorted, indices", "the operand's, both",
                    "real or integer, kept, and integer", numpy},

    OpDocumentation{Op::reshape, "x", "y", "the target's, with as many elements", any_type, numpy},
    OpDocumentation{Op::permute, "x", "y", "the operand's extents in the order asked for", any_type,
                    "NumPy transpose"},
    OpDocumentation{Op::broadcast, "x", "y",
                    "the target's; axes of extent 1 are repeated, leading axes added", any_type,
                    "NumPy broadcast_to"},
    OpDocumentation{Op::slice, "x", "y", "the operand's with the axis as long as the slice",
                    any_type, numpy},
    OpDocumentation{Op::pad, "x", "y", "the operand's with the axis longer by before + after",
                    any_type, numpy},
    OpDocumentation{Op::concat, "one part or more", "y",
                    "the parts' common shape with the sum of their extents along the axis",
                    "any, all alike", numpy},
    OpDocumentation{Op::flip, "x", "y", same_shape, any_type, numpy},
    OpDocumentation{Op::im2col, "x", "windows",
                    "[.., s1 .. sr] gives [.., taps, o1 .. or], o = (s + before + after - dilation "
                    "(kernel - 1) - 1) / stride + 1, rounded down",
                    real, "im2col: Chellapilla et al., 2006"},
    OpDocumentation{Op::col2im, "windows", "x",
                    "[.., taps, o1 .. or] gives [.., s1 .. sr], the extents asked for", real,
                    "adjoint of im2col"},

    OpDocumentation{
        Op::encode, "x", "codes", "[.., length] gives [.., words], rows padded to whole words",
        "real gives integer", "IEEE 754, bfloat16, 8-bit floats: Micikevicius et al., 2022"},
    OpDocumentation{Op::decode, "codes", "x", "[.., words] gives [.., length]",
                    "integer gives real",
                    "IEEE 754, bfloat16, 8-bit floats: Micikevicius et al., 2022"},

    OpDocumentation{Op::matmul, "a, b", "product",
                    "[.., m, k] and [.., k, n] give [.., m, n]; leading axes broadcast, the last "
                    "two of an operand may be read transposed",
                    real, "NumPy matmul"},
    OpDocumentation{
        Op::gather, "table, indices", "rows",
        "[V, ..] and [I..] give [I.., ..]; an index lies in [0, V), which is not looked "
        "at where rows have no elements",
        "any and integer, the table's is kept", "ONNX Gather"},
    OpDocumentation{
        Op::scatter_add, "rows, indices", "sums",
        "[I.., ..] and [I..] give [length, ..]; an index lies in [0, length), which is not "
        "looked at where rows have no elements",
        "numbers and integer, the rows' is kept", "adjoint of gather"},
    OpDocumentation{Op::take_along_axis, "x, indices", "y",
                    "the shape of the indices, which is the operand's but for the axis",
                    "any and integer, the operand's is kept", "NumPy take_along_axis"},
    OpDocumentation{
        Op::scatter_add_along_axis, "x, indices", "sums",
        "the operand's with the extent asked for along the axis; the indices are shaped "
        "like the operand",
        "numbers and integer, the operand's is kept", "adjoint of take_along_axis"},
    OpDocumentation{Op::scan, "carries, sequences, invariants", "final carries, stacked results",
                    "carries keep their shapes; a sequence [length, ..] is walked along its first "
                    "axis; a stacked result is [length, ..]",
                    "as the body declares", "functional programming's mapAccumL"},
    OpDocumentation{Op::interpret, "bytecode, weights, rows, state", "outputs, new state",
                    "[t], [w], [.., in] and [.., s] give [.., out] and [.., s]",
                    "integer bytecode, all else real",
                    "this project, engine/network/bytecode/bytecode.hpp"},

    OpDocumentation{Op::activate, "x, code", "y", "the shape of x; the code is a scalar",
                    "real and integer give real",
                    "silu: Elfwing et al., 2018; gelu: Hendrycks and Gimpel, 2016"},
    OpDocumentation{Op::matmul_epilogue, "a, b, bias and code where flagged", "y",
                    "matmul's; bias [n], code a scalar",
                    "real, an integer code; integer words where operands or result are codes",
                    "this project"},
    OpDocumentation{Op::fused, "those of its body", "y", "that of the body's output",
                    "as the body declares", "this project"},
    OpDocumentation{Op::topk, "x", "largest, indices",
                    "the operand's with the axis as long as count",
                    "real or integer, kept, and integer", "ONNX TopK"},
    OpDocumentation{
        Op::conv, "x, weights, bias where flagged", "y",
        "[N.., C, s1 .. sr], [O, C / groups, k1 .. kr] and [O] give [N.., O, o1 .. or], "
        "o as in im2col",
        real, "LeCun et al., 1989; groups and dilation as in ONNX Conv"},
    OpDocumentation{Op::attention, "q, k, v, valid where flagged", "o, log-sum-exp",
                    "[.., Hq, Sq, D], [.., Hk, Sk, D] and [.., Hk, Sk, E] give [.., Hq, Sq, E] and "
                    "[.., Hq, Sq]; Hq is a multiple of Hk",
                    "real, an integer valid",
                    "Vaswani et al., 2017; grouped heads: Ainslie et al., 2023; online softmax: "
                    "Milakov and Gimelshein, 2018"},
    OpDocumentation{Op::attention_gradient, "those of attention and what came of it, with upstream",
                    "dq, dk, dv", "the shapes of q, k and v", "real, an integer valid",
                    "Dao et al., 2022"},
    OpDocumentation{
        Op::selective_scan, "u, raw delta, log of -A, B, C, skip, state", "y, new state",
        "[.., L, D], [.., L, D], [D, N], [.., L, N], [.., L, N], [D] and [.., D, N] give "
        "[.., L, D] and [.., D, N]",
        real, "Gu and Dao, 2023"},
    OpDocumentation{Op::selective_scan_gradient,
                    "those of selective_scan, upstreams of y and new state",
                    "gradients of the seven operands", "the shapes of the seven operands", real,
                    "Gu and Dao, 2023"},
};

constexpr bool is_complete() {
    for (std::size_t i = 0; i < op_count; ++i) {
        const OpDocumentation& entry = documentation[i];
        if (entry.op != static_cast<Op>(i) || entry.operands.empty() || entry.results.empty() ||
            entry.shapes.empty() || entry.types.empty() || entry.source.empty())
            return false;
    }
    return true;
}
static_assert(is_complete(), "an op is missing here, out of order or without a text");

struct BatchText {
    BatchRule rule = BatchRule::each;
    std::string_view text;
};
constexpr std::array batch_texts{
    BatchText{BatchRule::source, "inputs are marked by the caller, all else is shared"},
    BatchText{BatchRule::each, "one for each individual where an operand is"},
    BatchText{BatchRule::body, "carries are per individual where the body makes them so"},
};

}  // namespace

std::span<const OpDocumentation, op_count> op_documentation() {
    return documentation;
}

std::string_view batch_text(const OpInfo& row) {
    for (const BatchText& entry : batch_texts)
        if (entry.rule == row.batch) return entry.text;
    return {};
}

std::string_view gradient_text(const OpInfo& row) {
    if (!row.differentiable) return "none";
    return row.gradient != nullptr ? "rule" : "through lowering";
}

std::string_view data_errors_text(const OpInfo& row) {
    if (row.batch == BatchRule::body) return "where its body has them";
    return row.may_fail ? "yes" : "no";
}

}  // namespace cambrian
