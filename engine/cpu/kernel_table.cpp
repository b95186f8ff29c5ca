#include "cambrian/engine/cpu/execution/kernel_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/execution/lift.hpp"
#include "cambrian/engine/cpu/kernels/lift_vectors.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"

namespace cambrian::cpu {

namespace {

using Int = std::int32_t;

// Integers wrap around like the registers of every device.
constexpr Int wrap(std::uint32_t x) {
    return static_cast<Int>(x);
}
constexpr std::uint32_t bits(Int x) {
    return static_cast<std::uint32_t>(x);
}

// Toward zero.
Int quotient(Int a, Int b) {
    if (b == 0) throw InputError(std::string(division_by_zero));
    return b == -1 ? wrap(0U - bits(a)) : a / b;
}

bool finite(float x) {
    return (elementary::float_to_bits(x) & elementary::exponent_mask) != elementary::exponent_mask;
}

float sign_of(float x) {
    return x > 0.0F ? 1.0F : (x < 0.0F ? -1.0F : 0.0F);
}

// Toward zero; beyond the range to its nearest end, NaN to the lowest.
Int truncate(float x) {
    const float above = x > -0x1p31F ? x : -0x1p31F;
    const Int value = static_cast<Int>(above < 0x1.fffffep30F ? above : 0x1.fffffep30F);
    return x >= 0x1p31F ? std::numeric_limits<Int>::max() : value;
}

/// Where the kernel of an op comes from.
enum class KernelKind : std::uint8_t {
    missing,
    rows,     ///< Lifted scalar functions, by the type of the last operand.
    factory,  ///< A function that makes the kernel.
    placed,   ///< No kernel: the value is bound or written before a run.
    lowered,  ///< Replaced by its lowering before a graph is compiled.
};

struct KernelRow {
    Op op = Op::count_;
    KernelKind kernel = KernelKind::missing;
    LoopSet real{};
    LoopSet integer{};
    LoopSet boolean{};
    KernelFactory make = nullptr;
    /// For rows that both types decide.
    const LoopSet& (*by_types)(ValueType from, ValueType to) = nullptr;
    bool only_fast = false;  ///< Not the bits of the lowering, which strict math takes.
};

constexpr KernelRow real(Op op, LoopSet rows) {
    return {.op = op, .kernel = KernelKind::rows, .real = rows};
}
constexpr KernelRow numeric(Op op, LoopSet reals, LoopSet integers) {
    return {.op = op, .kernel = KernelKind::rows, .real = reals, .integer = integers};
}
constexpr KernelRow boolean(Op op, LoopSet rows) {
    return {.op = op, .kernel = KernelKind::rows, .boolean = rows};
}
constexpr KernelRow words(Op op, LoopSet rows) {
    return {.op = op, .kernel = KernelKind::rows, .real = rows, .integer = rows, .boolean = rows};
}
constexpr KernelRow by_types(Op op, const LoopSet& (*rows)(ValueType from, ValueType to)) {
    return {.op = op, .kernel = KernelKind::rows, .by_types = rows};
}
constexpr KernelRow special(Op op, KernelFactory make) {
    return {.op = op, .kernel = KernelKind::factory, .make = make};
}
/// For a fused op whose kernel sums in an order of its own.
constexpr KernelRow fast(Op op, KernelFactory make) {
    return {.op = op, .kernel = KernelKind::factory, .make = make, .only_fast = true};
}
constexpr KernelRow lowered(Op op) {
    return {.op = op, .kernel = KernelKind::lowered};
}
constexpr KernelRow placed(Op op) {
    return {.op = op, .kernel = KernelKind::placed};
}

constexpr LoopSet real_to_integer = lift<Int(float)>([](float x) { return truncate(x); });
constexpr LoopSet real_to_boolean = lift<Int(float)>([](float x) -> Int { return x != 0.0F; });
constexpr LoopSet integer_to_real = lift<float(Int)>([](Int x) { return static_cast<float>(x); });
constexpr LoopSet integer_to_boolean = lift<Int(Int)>([](Int x) -> Int { return x != 0; });
constexpr LoopSet copy = lift<Word(Word)>([](Word x) { return x; });

const LoopSet& cast_rows(ValueType from, ValueType to) {
    if (from == ValueType::real && to != ValueType::real) {
        return to == ValueType::integer ? real_to_integer : real_to_boolean;
    }
    if (from != ValueType::real && to == ValueType::real) {
        return integer_to_real;
    }
    return from == ValueType::integer && to == ValueType::boolean ? integer_to_boolean : copy;
}

// clang-format off
/// Of the ops whose kernel is not just the elementary function of their name, in any order.
constexpr std::array own_rows{
    placed(Op::input),
    placed(Op::constant),
    special(Op::iota, make_iota),
    special(Op::random, make_random),
    numeric(Op::neg, lift<float(float)>([](float x) { return -x; }),
                     lift<Int(Int)>([](Int x) { return wrap(0U - bits(x)); })),
    numeric(Op::abs, lift<float(float)>([](float x) { return std::fabs(x); }),
                     lift<Int(Int)>([](Int x) { return x < 0 ? wrap(0U - bits(x)) : x; })),
    numeric(Op::sign, lift<float(float)>([](float x) { return sign_of(x); }),
                      lift<Int(Int)>([](Int x) -> Int { return (x > 0) - (x < 0); })),
    real(Op::round, lift<float(float)>([](float x) { return std::nearbyint(x); })),
    real(Op::floor, lift<float(float)>([](float x) { return std::floor(x); })),
    real(Op::exp, vector_functions::lift([](float x) { return elementary::exp(x); },
                             [](auto x) __attribute__((always_inline)) { return vector_functions::exp(x); })),
    real(Op::tanh, vector_functions::lift([](float x) { return elementary::tanh(x); },
                             [](auto x) __attribute__((always_inline)) { return vector_functions::tanh(x); })),
    real(Op::sigmoid, vector_functions::lift_parts<vector_functions::Sigmoid>([](float x) { return elementary::sigmoid(x); })),
    real(Op::is_finite, lift<Int(float)>([](float x) -> Int { return finite(x); })),
    boolean(Op::logical_not, lift<Int(Int)>([](Int x) -> Int { return x == 0; })),
    by_types(Op::cast, cast_rows),
    words(Op::stop_gradient, copy),
    numeric(Op::add, lift<float(float, float)>([](float a, float b) { return a + b; }),
                     lift<Int(Int, Int)>([](Int a, Int b) { return wrap(bits(a) + bits(b)); })),
    numeric(Op::sub, lift<float(float, float)>([](float a, float b) { return a - b; }),
                     lift<Int(Int, Int)>([](Int a, Int b) { return wrap(bits(a) - bits(b)); })),
    numeric(Op::mul, lift<float(float, float)>([](float a, float b) { return a * b; }),
                     lift<Int(Int, Int)>([](Int a, Int b) { return wrap(bits(a) * bits(b)); })),
    numeric(Op::div,
            lift<float(float, float)>([](float a, float b) { return elementary::divide(a, b); }),
            lift<Int(Int, Int)>([](Int a, Int b) { return quotient(a, b); })),
    real(Op::pow,
         lift<float(float, float)>([](float a, float b) { return elementary::pow(a, b); })),
    numeric(Op::min, lift<float(float, float)>([](float a, float b) { return a < b ? a : b; }),
                     lift<Int(Int, Int)>([](Int a, Int b) { return a < b ? a : b; })),
    numeric(Op::max, lift<float(float, float)>([](float a, float b) { return a > b ? a : b; }),
                     lift<Int(Int, Int)>([](Int a, Int b) { return a > b ? a : b; })),
    numeric(Op::less, lift<Int(float, float)>([](float a, float b) -> Int { return a < b; }),
                      lift<Int(Int, Int)>([](Int a, Int b) -> Int { return a < b; })),
    KernelRow{.op = Op::equal,
              .kernel = KernelKind::rows,
              .real = lift<Int(float, float)>([](float a, float b) -> Int { return a == b; }),
              .integer = lift<Int(Int, Int)>([](Int a, Int b) -> Int { return a == b; }),
              .boolean = lift<Int(Int, Int)>([](Int a, Int b) -> Int { return a == b; })},
    boolean(Op::logical_and, lift<Int(Int, Int)>([](Int a, Int b) -> Int { return a & b; })),
    boolean(Op::logical_or, lift<Int(Int, Int)>([](Int a, Int b) -> Int { return a | b; })),
    words(Op::select, lift<Word(Int, Word, Word)>([](Int c, Word a, Word b) {
              return Word{c != 0 ? a.bits : b.bits};
          })),
    special(Op::reduce_sum, make_reduce_sum),
    special(Op::reduce_max, make_reduce_max),
    special(Op::argmax, make_argmax),
    special(Op::cumsum, make_cumsum),
    special(Op::sort, make_sort),
    special(Op::reshape, make_reshape),
    special(Op::permute, make_permute),
    special(Op::broadcast, make_broadcast),
    special(Op::slice, make_slice),
    special(Op::pad, make_pad),
    special(Op::concat, make_concat),
    special(Op::flip, make_flip),
    special(Op::im2col, make_im2col),
    special(Op::col2im, make_col2im),
    special(Op::encode, make_encode),
    special(Op::decode, make_decode),
    special(Op::unpack, make_unpack),
    special(Op::matmul, make_matmul),
    special(Op::gather, make_gather),
    special(Op::scatter_add, make_scatter_add),
    special(Op::take_along_axis, make_take_along_axis),
    special(Op::scatter_add_along_axis, make_scatter_add_along_axis),
    special(Op::scan, make_scan),
    special(Op::interpret, make_interpret),
    special(Op::activate, make_activate),
    special(Op::activate_any, make_activate),
    lowered(Op::matmul_epilogue),
    special(Op::packed_matmul, make_packed_matmul),
    special(Op::fused, make_fused),
    special(Op::topk, make_topk),
    special(Op::conv, make_conv),
    fast(Op::attention, make_attention),
    fast(Op::attention_gradient, make_attention_gradient),
    fast(Op::cached_attention, make_cached_attention),
    special(Op::put_row, make_put_row),
    special(Op::selective_scan, make_selective_scan),
    fast(Op::selective_scan_gradient, make_selective_scan_gradient),
};
// clang-format on

constexpr std::array<KernelRow, op_count> all_rows() {
    std::array<KernelRow, op_count> rows{};
    const auto set = [&](const KernelRow& row) { rows[static_cast<std::size_t>(row.op)] = row; };
#define CAMBRIAN_REAL_FUNCTION(name, ...) \
    set(real(Op::name, lift<float(float)>([](float x) { return elementary::name(x); })));
#include "cambrian/engine/graph/op_table.inl"
    for (const KernelRow& row : own_rows) set(row);
    return rows;
}
constexpr std::array<KernelRow, op_count> kernel_rows = all_rows();

static_assert(std::ranges::find(kernel_rows, KernelKind::missing, &KernelRow::kernel) ==
                  kernel_rows.end(),
              "an op has no CPU kernel");

}  // namespace

const LoopSet* rows_of(const Graph& graph, const Node& node) {
    const KernelRow& row = kernel_rows[static_cast<std::size_t>(node.op)];
    if (row.kernel != KernelKind::rows) {
        return nullptr;
    }
    const ValueType from = graph.value(graph.operands(node).back()).type;
    if (row.by_types != nullptr) {
        return &row.by_types(from, graph.value(ValueId{node.first_result}).type);
    }
    const LoopSet& rows = from == ValueType::real      ? row.real
                          : from == ValueType::integer ? row.integer
                                                       : row.boolean;
    CAMBRIAN_ASSERT(rows.strided != nullptr);
    return &rows;
}

const LoopSet& copy_rows() {
    return copy;
}

bool has_kernel(Op op, Math math) {
    const KernelRow& row = kernel_rows[static_cast<std::size_t>(op)];
    return row.kernel != KernelKind::lowered && !(row.only_fast && math == Math::strict);
}

std::unique_ptr<Kernel> make_kernel(const KernelContext& context) {
    const KernelRow& row = kernel_rows[static_cast<std::size_t>(context.node.op)];
    if (const LoopSet* rows = rows_of(context.graph, context.node)) {
        return make_elementwise(context, *rows);
    }
    return row.kernel == KernelKind::factory ? row.make(context) : nullptr;
}

}  // namespace cambrian::cpu
