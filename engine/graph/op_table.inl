// The table of ops: one row each, the only place where an op is listed. A row gives its name, then
// arity, shape, type, gradient and documentation, in the words that rules/op_table.cpp defines; the
// macro says what kind of op it is and what follows from that without another line:
//
//   CAMBRIAN_BOUND          in memory before a run: no kernel
//   CAMBRIAN_ELEMENTWISE    fusion groups and the GPU's elementwise kernel take it
//   CAMBRIAN_UNARY          elementwise, with a builder name(x)
//   CAMBRIAN_BINARY         elementwise, with a builder name(a, b)
//   CAMBRIAN_REAL_FUNCTION  unary, and every backend computes the function of that name of
//                           engine/core/elementary.inl
//   CAMBRIAN_FOLD           a reduction that a fusion group may hold
//   CAMBRIAN_MOVEMENT       its result's elements are its operands', or zeros, at other positions
//   CAMBRIAN_OP             anything else
//
// Who includes this defines CAMBRIAN_OP, and those of the others that differ from what they are a
// kind of.
#ifndef CAMBRIAN_OP
#define CAMBRIAN_OP(name, ...)
#endif
#ifndef CAMBRIAN_BOUND
#define CAMBRIAN_BOUND(...) CAMBRIAN_OP(__VA_ARGS__)
#endif
#ifndef CAMBRIAN_ELEMENTWISE
#define CAMBRIAN_ELEMENTWISE(...) CAMBRIAN_OP(__VA_ARGS__)
#endif
#ifndef CAMBRIAN_UNARY
#define CAMBRIAN_UNARY(...) CAMBRIAN_ELEMENTWISE(__VA_ARGS__)
#endif
#ifndef CAMBRIAN_BINARY
#define CAMBRIAN_BINARY(...) CAMBRIAN_ELEMENTWISE(__VA_ARGS__)
#endif
#ifndef CAMBRIAN_REAL_FUNCTION
#define CAMBRIAN_REAL_FUNCTION(...) CAMBRIAN_UNARY(__VA_ARGS__)
#endif
#ifndef CAMBRIAN_FOLD
#define CAMBRIAN_FOLD(...) CAMBRIAN_OP(__VA_ARGS__)
#endif
#ifndef CAMBRIAN_MOVEMENT
#define CAMBRIAN_MOVEMENT(...) CAMBRIAN_OP(__VA_ARGS__)
#endif

// clang-format off

// Sources.
CAMBRIAN_BOUND(input, source({shape::input, "the declared shape"},
    {type::input, "the declared type"}, "value", ours, "bound by the caller at run time"))
CAMBRIAN_BOUND(constant, source({shape::constant, "the tensor's"},
    {type::constant, "the tensor's"}, "value", ours, "a tensor held by the graph"))
CAMBRIAN_OP(iota, exact(source({shape::iota, "[length]"},
    {type::integer, "integer"}, "indices", "APL", "0, 1, .. length - 1")))
CAMBRIAN_OP(random, exact(primitive(2,
    {shape::random, "key [2], ids [I..] give [I.., length]"},
    {type::random, "integers give real"}, no_gradient,
    {.operands = "key, ids", .results = "uniforms",
     .source = "Philox4x32-10: Salmon et al., 2011",
     .meaning = "uniforms in [0, 1): draw d of id i is word d % 4 of philox({d / 4 low, d / 4 high,"
                " i, 0}, key)"})))

// Elementwise, one operand.
CAMBRIAN_ELEMENTWISE(neg, unary(numbers, grad::neg, ieee, "-x"))
CAMBRIAN_UNARY(abs, unary(numbers, grad::abs, ieee, "|x|; gradient sign(x), 0 at 0"))
CAMBRIAN_UNARY(sign, unary(numbers, no_gradient, numpy, "1 for x > 0, -1 for x < 0, else 0"))
CAMBRIAN_UNARY(round, unary(reals, no_gradient, ieee, "nearest integer, ties to even"))
CAMBRIAN_UNARY(floor, unary(reals, no_gradient, ieee, "largest integer not above x"))
CAMBRIAN_REAL_FUNCTION(exp, unary(reals, grad::exp, own, "e^x"))
CAMBRIAN_REAL_FUNCTION(log, unary(reals, grad::log, own, "natural logarithm"))
CAMBRIAN_REAL_FUNCTION(sqrt, unary(reals, grad::sqrt, own, "x^(1/2)"))
CAMBRIAN_REAL_FUNCTION(rsqrt, unary(reals, grad::rsqrt, own, "x^(-1/2)"))
CAMBRIAN_REAL_FUNCTION(reciprocal, unary(reals, grad::reciprocal, own, "1 / x"))
CAMBRIAN_REAL_FUNCTION(sin, unary(reals, grad::sin, own, "sine of radians, limited to [-8192, 8192]; infinities give NaN"))
CAMBRIAN_REAL_FUNCTION(cos, unary(reals, grad::cos, own, "cosine of radians, limited to [-8192, 8192]; infinities give NaN"))
CAMBRIAN_REAL_FUNCTION(tanh, unary(reals, grad::tanh, own, "hyperbolic tangent"))
CAMBRIAN_REAL_FUNCTION(sigmoid, unary(reals, grad::sigmoid, own, "1 / (1 + e^-x)"))
CAMBRIAN_REAL_FUNCTION(erf, unary(reals, grad::erf, own,
    "2 / sqrt(pi) times the integral of e^(-t t) from 0 to x"))
CAMBRIAN_REAL_FUNCTION(log1p, unary(reals, grad::log1p, own, "ln(1 + x), exact near 0"))
CAMBRIAN_REAL_FUNCTION(expm1, unary(reals, grad::expm1, own, "e^x - 1, exact near 0"))
CAMBRIAN_UNARY(is_finite, unary(reals_tested, no_gradient, ieee, "neither infinite nor NaN"))
CAMBRIAN_UNARY(logical_not, unary(booleans, no_gradient, numpy, "not x"))
CAMBRIAN_ELEMENTWISE(cast, unary({type::cast, "any gives the type asked for"}, grad::cast, ours,
    "real to integer truncates toward zero, clamped to int32, NaN the lowest; to boolean is x != 0"))
CAMBRIAN_UNARY(stop_gradient, unary(any_type, no_gradient, ours, "x, with no gradient"))

// Elementwise, two and three operands, NumPy broadcasting.
CAMBRIAN_ELEMENTWISE(add, binary(numbers, grad::add, ieee, "a + b"))
CAMBRIAN_ELEMENTWISE(sub, binary(numbers, grad::sub, ieee, "a - b"))
CAMBRIAN_ELEMENTWISE(mul, binary(numbers, grad::mul, ieee, "a b"))
CAMBRIAN_ELEMENTWISE(div, may_fail(binary(numbers, grad::div, "IEEE 754; integers as in C",
    "a / b, IEEE; of integers toward zero, a divisor of 0 is an InputError")))
CAMBRIAN_BINARY(pow, binary(reals, grad::pow, "C, annex F",
    "a^b with the special values of C; its gradient for b is 0 where a = 0"))
CAMBRIAN_BINARY(min, binary(numbers, grad::min, ieee_comparison, "a < b ? a : b; ties and NaN take b"))
CAMBRIAN_BINARY(max, binary(numbers, grad::max, ieee_comparison, "a > b ? a : b; ties and NaN take b"))
CAMBRIAN_BINARY(less, binary({type::numeric_test, "real or integer, both alike, gives boolean"},
    no_gradient, ieee, "a < b"))
CAMBRIAN_BINARY(equal, binary({type::equality, "any, both alike, gives boolean"},
    no_gradient, ieee, "a == b"))
CAMBRIAN_BINARY(logical_and, binary(booleans, no_gradient, numpy, "a and b"))
CAMBRIAN_BINARY(logical_or, binary(booleans, no_gradient, numpy, "a or b"))
CAMBRIAN_ELEMENTWISE(select, exact(primitive(3, broadcast_shape,
    {type::select, "a boolean and two of one type"}, grad::select,
    {.operands = "condition, a, b", .results = "y", .source = "NumPy where",
     .meaning = "condition ? a : b"})))

// Reductions and order along an axis.
CAMBRIAN_FOLD(reduce_sum, primitive(1,
    {shape::reduce, "the operand's without the axis, or with it as 1"}, numbers, grad::reduce_sum,
    {.operands = "x", .results = "y", .source = numpy,
     .meaning = "sum along an axis, from its first element to its last; 0 when empty"}))
CAMBRIAN_FOLD(reduce_max, exact(primitive(1,
    {shape::reduce_nonempty, "the operand's without the axis, or with it as 1; the axis is not empty"},
    numbers, grad::reduce_max,
    {.operands = "x", .results = "y", .source = numpy,
     .meaning = "first maximum along an axis: m = x0, then x > m ? x : m; its gradient goes there"})))
CAMBRIAN_OP(argmax, exact(primitive(1,
    {shape::argmax, "the operand's without the axis, or with it as 1; the axis is not empty"},
    {type::index_of, "real or integer gives integer"}, no_gradient,
    {.operands = "x", .results = "index", .source = numpy,
     .meaning = "index of the element reduce_max takes"})))
CAMBRIAN_OP(cumsum, primitive(1, {shape::cumsum, "the operand's"}, numbers, grad::cumsum,
    {.operands = "x", .results = "y", .source = onnx,
     .meaning = "running sums along an axis, in order; see CumsumAttribute"}))
CAMBRIAN_OP(sort, exact(several(two_results, primitive(1, {shape::sort, "the operand's, both"},
    {type::sort, "real or integer, kept, and integer"}, grad::sort,
    {.operands = "x", .results = "sorted, indices", .source = numpy,
     .meaning = "elements of an axis in a stable order, NaN above all, and their indices"}))))

// Movement.
CAMBRIAN_MOVEMENT(reshape, exact(primitive(1,
    {shape::reshape, "the target's, with as many elements"}, any_type, grad::reshape,
    {.operands = "x", .results = "y", .source = numpy,
     .meaning = "the same elements, other extents"})))
CAMBRIAN_MOVEMENT(permute, exact(primitive(1,
    {shape::permute, "the operand's extents in the order asked for"}, any_type, grad::permute,
    {.operands = "x", .results = "y", .source = "NumPy transpose",
     .meaning = "axis i is operand axis order[i]"})))
CAMBRIAN_MOVEMENT(broadcast, exact(primitive(1,
    {shape::broadcast, "the target's; axes of extent 1 are repeated, leading axes added"}, any_type,
    grad::broadcast,
    {.operands = "x", .results = "y", .source = "NumPy broadcast_to",
     .meaning = "repeats axes of extent 1 and adds leading axes"})))
CAMBRIAN_MOVEMENT(slice, exact(primitive(1,
    {shape::slice, "the operand's with the axis as long as the slice"}, any_type, grad::slice,
    {.operands = "x", .results = "y", .source = numpy,
     .meaning = "elements [start, start + length) of an axis"})))
CAMBRIAN_MOVEMENT(pad, exact(primitive(1,
    {shape::pad, "the operand's with the axis longer by before + after"}, any_type, grad::pad,
    {.operands = "x", .results = "y", .source = numpy,
     .meaning = "zeros before and after one axis"})))
CAMBRIAN_MOVEMENT(concat, exact(primitive(any_arity,
    {shape::concat, "the parts' common shape with the sum of their extents along the axis"},
    {type::same, "any, all alike"}, grad::concat,
    {.operands = "one part or more", .results = "y", .source = numpy,
     .meaning = "parts joined along an axis"})))
CAMBRIAN_MOVEMENT(flip, exact(primitive(1, {shape::flip, "the operand's"}, any_type, grad::flip,
    {.operands = "x", .results = "y", .source = numpy, .meaning = "an axis from its end"})))
CAMBRIAN_OP(im2col, exact(primitive(1,
    {shape::im2col, "[.., s1 .. sr] gives [.., taps, o1 .. or], o = (s + before + after - dilation "
                    "(kernel - 1) - 1) / stride + 1, rounded down"}, reals, grad::im2col,
    {.operands = "x", .results = "windows", .source = "im2col: Chellapilla et al., 2006",
     .meaning = "windows over the last axes, one row a tap; see Im2colAttribute"})))
CAMBRIAN_OP(col2im, primitive(1,
    {shape::col2im, "[.., taps, o1 .. or] gives [.., s1 .. sr], the extents asked for"}, reals,
    grad::col2im,
    {.operands = "windows", .results = "x", .source = "adjoint of im2col",
     .meaning = "taps added back to the elements they were read from, in order of tap"}))

// Storage formats.
CAMBRIAN_OP(encode, exact(primitive(1,
    {shape::encode, "[.., length] gives [.., words], rows padded to whole words"},
    {type::encode, "real gives integer"}, no_gradient,
    {.operands = "x", .results = "codes", .source = small_floats,
     .meaning = "numbers as codes of a storage format, nearest, ties to even; see NumberFormat"})))
CAMBRIAN_OP(decode, exact(primitive(1, {shape::decode, "[.., words] gives [.., length]"},
    {type::decode, "integer gives real"}, no_gradient,
    {.operands = "codes", .results = "x", .source = small_floats,
     .meaning = "codes of a storage format as numbers"})))
CAMBRIAN_OP(unpack, exact(primitive(any_arity,
    {shape::unpack, "[.., words] gives [.., length]"},
    {type::unpack, "integer words and zero points, real scales give real"}, no_gradient,
    {.operands = "words, scales and zero points where the format has them", .results = "x",
     .source = "this project, engine/weights/dtype.hpp",
     .meaning = "codes of weights as numbers: (code - zero point) scale; see PackedAttribute"})))

// Contraction, indexing, control.
CAMBRIAN_OP(matmul, primitive(2,
    {shape::matmul, "[.., m, k] and [.., k, n] give [.., m, n]; leading axes broadcast, the last two "
                    "of an operand may be read transposed"}, reals, grad::matmul,
    {.operands = "a, b", .results = "product", .source = "NumPy matmul",
     .meaning = "sum over k of a[.., m, k] b[.., k, n], k ascending from 0; leading axes broadcast"}))
CAMBRIAN_OP(gather, may_fail(exact(primitive(2,
    {shape::gather, "[V, ..] and [I..] give [I.., ..]; an index lies in [0, V), which is not looked "
                    "at where rows have no elements"},
    {type::gather, "any and integer, the table's is kept"}, grad::gather,
    {.operands = "table, indices", .results = "rows", .source = "ONNX Gather",
     .meaning = "rows of a table at indices"}))))
CAMBRIAN_OP(scatter_add, may_fail(primitive(2,
    {shape::scatter_add, "[I.., ..] and [I..] give [length, ..]; an index lies in [0, length), which "
                         "is not looked at where rows have no elements"},
    {type::scatter_add, "numbers and integer, the rows' is kept"}, grad::scatter_add,
    {.operands = "rows, indices", .results = "sums", .source = "adjoint of gather",
     .meaning = "rows added into zeros at indices, in index order"})))
CAMBRIAN_OP(take_along_axis, may_fail(exact(primitive(2,
    {shape::take_along_axis, "the shape of the indices, which is the operand's but for the axis"},
    {type::take_along_axis, "any and integer, the operand's is kept"}, grad::take_along_axis,
    {.operands = "x, indices", .results = "y", .source = "NumPy take_along_axis",
     .meaning = "elements of an axis at indices: y[.., i, ..] = x[.., index[.., i, ..], ..]"}))))
CAMBRIAN_OP(scatter_add_along_axis, may_fail(primitive(2,
    {shape::scatter_add_along_axis, "the operand's with the extent asked for along the axis; the "
                                    "indices are shaped like the operand"},
    {type::scatter_add_along_axis, "numbers and integer, the operand's is kept"},
    grad::scatter_add_along_axis,
    {.operands = "x, indices", .results = "sums", .source = "adjoint of take_along_axis",
     .meaning = "elements added into zeros along an axis at indices, in order of position"})))
CAMBRIAN_OP(scan, with_body(several(scan_result_count, primitive(any_arity,
    {shape::scan, "carries keep their shapes; a sequence [length, ..] is walked along its first axis; "
                  "a stacked result is [length, ..]"},
    {type::scan, "as the body declares"}, grad::scan,
    {.operands = "carries, sequences, invariants", .results = "final carries, stacked results",
     .source = "functional programming's mapAccumL",
     .meaning = "a body repeated over steps; see ScanAttribute"}))))
CAMBRIAN_OP(interpret, several(interpret_result_count, primitive(4,
    {shape::interpret, "[t], [w], [.., in] and [.., s] give [.., out] and [.., s]"},
    {type::interpret, "integer bytecode, all else real"}, no_gradient,
    {.operands = "bytecode, weights, rows, state", .results = "outputs, new state",
     .source = "this project, engine/network/bytecode/bytecode.hpp",
     .meaning = "one pass of the network that bytecode describes over every row: bytecode, weights, "
                "rows [.., in] and state [.., s] give outputs [.., out] and the new state"})))

// Fused: each is its lowering; a backend may own a faster kernel.
CAMBRIAN_ELEMENTWISE(activate, fused(lower_activate, primitive(2,
    {shape::activate, "the shape of x; the code is a scalar"},
    {type::activate, "real and integer give real"}, through_lowering,
    {.operands = "x, code", .results = "y",
     .source = "silu: Elfwing et al., 2018; gelu: Hendrycks and Gimpel, 2016",
     .meaning = "linear x, relu max(x, 0), silu x sigmoid(x), gelu (0.5 x)(1 + tanh(sqrt(2/pi) "
                "(x + 0.044715 ((x x) x)))), tanh, sigmoid by code 0 to 5; any other code is linear"})))
CAMBRIAN_ELEMENTWISE(activate_any, fused(lower_activate_any, primitive(2,
    {shape::activate, "the shape of x; the code is a scalar"},
    {type::activate, "real and integer give real"}, through_lowering,
    {.operands = "x, code", .results = "y",
     .source = "relu6, hard_swish: Howard et al., 2019; mish: Misra, 2019; exact_gelu: Hendrycks "
               "and Gimpel, 2016; neat-python",
     .meaning = "any activation of the table (`cambrian layers --activations`) by its code; any other "
                "code is linear"})))
CAMBRIAN_OP(matmul_epilogue, fused(lower_matmul_epilogue, primitive(any_arity,
    {shape::matmul_epilogue, "matmul's; bias [n], code a scalar"},
    {type::matmul_epilogue,
     "real, an integer code; integer words where operands or result are codes"}, through_lowering,
    {.operands = "a, b or the parts of a packed matrix, bias and code where flagged", .results = "y", .source = ours,
     .meaning = "activate(matmul(a, b) + bias, code), without bias or code where it has none; "
                "of decoded operands, and encoded, where they are codes; the product a packed_matmul "
                "where b is packed"})))
CAMBRIAN_OP(packed_matmul, fused(lower_packed_matmul, primitive(any_arity,
    {shape::packed_matmul, "[.., m, k] and the codes of [n, k] give [.., m, n]"},
    {type::packed_matmul, "real, integer words"}, no_gradient,
    {.operands = "x, words, scales and zero points where the format has them",
     .results = "product", .source = ours,
     .meaning = "matmul(x, unpack(words, ..)) with the matrix transposed, decoded as it is read"})))
CAMBRIAN_OP(fused, fused(lower_fused, primitive(any_arity,
    {shape::fused, "that of the body's output"}, {type::fused, "as the body declares"},
    through_lowering,
    {.operands = "those of its body", .results = "y", .source = ours,
     .meaning = "elementwise nodes and reductions along the last axis as one node"})))
CAMBRIAN_OP(topk, fused(lower_topk, several(two_results, primitive(1,
    {shape::topk, "the operand's with the axis as long as count"},
    {type::topk, "real or integer, kept, and integer"}, grad::topk,
    {.operands = "x", .results = "largest, indices", .source = "ONNX TopK",
     .meaning = "the largest elements of an axis, largest first, ties by index, and their indices"}))))
CAMBRIAN_OP(conv, fused(lower_conv, primitive(any_arity,
    {shape::conv, "[N.., C, s1 .. sr], [O, C / groups, k1 .. kr] and [O] give [N.., O, o1 .. or], "
                  "o as in im2col"}, {type::conv, "real"}, grad::conv,
    {.operands = "x, weights, bias where flagged", .results = "y",
     .source = "LeCun et al., 1989; groups and dilation as in ONNX Conv",
     .meaning = "sum over channels of a group and taps of weights x, plus bias; see ConvAttribute"})))
CAMBRIAN_OP(attention, fused(lower_attention, several(two_results, primitive(any_arity,
    {shape::attention, "[.., Hq, Sq, D], [.., Hk, Sk, D] and [.., Hk, Sk, E] give [.., Hq, Sq, E] and "
                       "[.., Hq, Sq]; Hq is a multiple of Hk"},
    {type::attention, "real, an integer valid"}, grad::attention,
    {.operands = "q, k, v, valid where flagged", .results = "o, log-sum-exp",
     .source = "Vaswani et al., 2017; grouped heads: Ainslie et al., 2023; online softmax: Milakov "
               "and Gimelshein, 2018",
     .meaning = "softmax(scale q k^T) v over the keys each query sees, and the log-sum-exp of its "
                "scores"}))))
CAMBRIAN_OP(attention_gradient, fused(lower_attention_gradient,
    several(attention_gradient_result_count, primitive(any_arity,
    {shape::attention_gradient, "the shapes of q, k and v"},
    {type::attention_gradient, "real, an integer valid"}, through_lowering,
    {.operands = "those of attention and what came of it, with upstream", .results = "dq, dk, dv",
     .source = "Dao et al., 2022",
     .meaning = "gradients of q, k and v from q, k, v, log-sum-exp, the upstream of o, d = sum(do o) "
                "- dlse and valid: with P = exp(scale q k^T - lse): dv = P^T do, ds = P (do v^T - d),"
                " dq = scale ds k, dk = scale ds^T q"}))))
CAMBRIAN_OP(cached_attention, fused(lower_cached_attention, primitive(6,
    {shape::cached_attention, "[.., Hq, 1, D], [.., Hk, C, D], [.., Hk, C, E], [.., Hk, 1, D], "
                              "[.., Hk, 1, E] and [..] give [.., Hq, 1, E]; Hq is a multiple of Hk"},
    {type::cached_attention, "real, an integer position"}, through_lowering,
    {.operands = "q, cached keys, cached values, k, v, position", .results = "o",
     .source = "Shazeer, 2019, \"Fast Transformer Decoding\"",
     .meaning = "softmax(scale q k^T) v of one query over the cached keys before its position and its "
                "own key"})))
CAMBRIAN_OP(put_row, exact(fused(lower_put_row, primitive(3,
    {shape::put_row, "[.., H, C, W], [.., H, 1, W] and [..] give [.., H, C, W]"},
    {type::put_row, "real, an integer position"}, through_lowering,
    {.operands = "rows, row, position", .results = "y", .source = ours,
     .meaning = "the rows with another one at a position; outside they stay as they are. Where the "
                "result replaces them it is written where they lie"}))))
CAMBRIAN_OP(selective_scan, fused(lower_selective_scan, several(two_results, primitive(7,
    {shape::selective_scan, "[.., L, D], [.., L, D], [D, N], [.., L, N], [.., L, N], [D] and "
                            "[.., D, N] give [.., L, D] and [.., D, N]"},
    {type::selective_scan, "real"}, grad::selective_scan,
    {.operands = "u, raw delta, log of -A, B, C, skip, state", .results = "y, new state",
     .source = "Gu and Dao, 2023",
     .meaning = "h = exp(d a) h + w B u, y = sum over n of C h + skip u, with d = softplus(raw), "
                "a = -exp(log) and w = (exp(d a) - 1) / a (zero-order hold) or d (Euler)"}))))
CAMBRIAN_OP(selective_scan_gradient, fused(lower_selective_scan_gradient,
    several(selective_scan_gradient_result_count, primitive(9,
    {shape::selective_scan_gradient, "the shapes of the seven operands"},
    {type::selective_scan_gradient, "real"}, through_lowering,
    {.operands = "those of selective_scan, upstreams of y and new state",
     .results = "gradients of the seven operands", .source = "Gu and Dao, 2023",
     .meaning = "gradients of the seven operands from them and the upstreams of y and state"}))))

// clang-format on

#undef CAMBRIAN_OP
#undef CAMBRIAN_BOUND
#undef CAMBRIAN_ELEMENTWISE
#undef CAMBRIAN_UNARY
#undef CAMBRIAN_BINARY
#undef CAMBRIAN_REAL_FUNCTION
#undef CAMBRIAN_FOLD
#undef CAMBRIAN_MOVEMENT
