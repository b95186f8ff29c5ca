#include "cambrian/gpu/codegen/rows/ops.hpp"

#include <algorithm>
#include <array>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::gpu {
namespace {

/// Scalar operations of an elementary function, about.
constexpr std::int64_t function_cost = 24;

constexpr RowOp none(Op op) {
    return {.op = op, .split = row_split::never};
}
constexpr RowOp elementwise(Op op, std::int64_t cost = 1) {
    return {
        .op = op, .split = row_split::elementwise, .write = row_write::elementwise, .cost = cost};
}
constexpr RowOp function(Op op) {
    return elementwise(op, function_cost);
}
constexpr RowOp movement(Op op, RowSplit (*split)(const RowSite&),
                         void (*write)(RowWriter&, const Node&)) {
    return {.op = op, .split = split, .write = write, .moves = true};
}
constexpr RowOp other(Op op, RowSplit (*split)(const RowSite&),
                      void (*write)(RowWriter&, const Node&), std::int64_t cost = 1) {
    return {.op = op, .split = split, .write = write, .cost = cost};
}

// clang-format off
constexpr std::array<RowOp, op_count> row_op_rows{
    none(Op::input),  // Placed before the nodes are walked.
    movement(Op::constant, row_split::shared, row_write::constant),
    movement(Op::iota, row_split::shared, row_write::iota),
    other(Op::random, row_split::random, row_write::random, 40),
    elementwise(Op::neg),
    elementwise(Op::abs),
    elementwise(Op::sign, 4),
    elementwise(Op::round, 4),
    elementwise(Op::floor, 6),
    function(Op::exp),
    function(Op::log),
    function(Op::sqrt),
    function(Op::rsqrt),
    function(Op::reciprocal),
    function(Op::sin),
    function(Op::cos),
    function(Op::tanh),
    function(Op::sigmoid),
    function(Op::erf),
    function(Op::log1p),
    elementwise(Op::expm1, 2 * function_cost),
    elementwise(Op::is_finite),
    other(Op::logical_not, row_split::elementwise, row_write::logical_not),
    other(Op::cast, row_split::elementwise, row_write::cast),
    movement(Op::stop_gradient, row_split::elementwise, row_write::same),
    elementwise(Op::add),
    elementwise(Op::sub),
    elementwise(Op::mul),
    other(Op::div, row_split::elementwise, row_write::div, 2 * function_cost),
    elementwise(Op::pow, 6 * function_cost),
    elementwise(Op::min, 2),
    elementwise(Op::max, 2),
    elementwise(Op::less),
    elementwise(Op::equal),
    other(Op::logical_and, row_split::elementwise, row_write::logical_and),
    other(Op::logical_or, row_split::elementwise, row_write::logical_or),
    other(Op::select, row_split::elementwise, row_write::select),
    other(Op::reduce_sum, row_split::reduce, row_write::reduce),
    other(Op::reduce_max, row_split::reduce, row_write::reduce),
    other(Op::argmax, row_split::reduce, row_write::argmax),
    none(Op::cumsum),
    none(Op::sort),
    movement(Op::reshape, row_split::reshape, row_write::reshape),
    movement(Op::permute, row_split::permute, row_write::permute),
    movement(Op::broadcast, row_split::broadcast, row_write::broadcast),
    movement(Op::slice, row_split::slice, row_write::slice),
    other(Op::pad, row_split::pad, row_write::pad),
    other(Op::concat, row_split::concat, row_write::concat),
    none(Op::flip),
    none(Op::im2col),
    none(Op::col2im),
    none(Op::encode),
    none(Op::decode),
    other(Op::matmul, row_split::matmul, row_write::matmul, 2),
    other(Op::gather, row_split::gather, row_write::gather, 2),
    none(Op::scatter_add),
    none(Op::take_along_axis),
    none(Op::scatter_add_along_axis),
    none(Op::scan),
    other(Op::interpret, row_split::interpret, row_write::interpret, 2),
    other(Op::activate, row_split::elementwise, row_write::activate, 2 * function_cost),
    none(Op::matmul_epilogue),
    none(Op::fused),
    none(Op::topk),
    none(Op::conv),
    none(Op::attention),
    none(Op::attention_gradient),
    none(Op::selective_scan),
    none(Op::selective_scan_gradient),
};
// clang-format on

constexpr bool covers_every_op() {
    for (std::size_t i = 0; i < op_count; ++i)
        if (row_op_rows[i].op != static_cast<Op>(i)) return false;
    return true;
}
static_assert(covers_every_op(), "an op has no row here or a row is out of order");

}  // namespace

const RowOp& row_op(Op op) {
    CAMBRIAN_EXPECT(op < Op::count_);
    return row_op_rows[static_cast<std::size_t>(op)];
}

bool RowSite::any() const {
    return std::ranges::any_of(graph.operands(node), [&](ValueId value) {
        return has_rows[static_cast<std::size_t>(value)];
    });
}

}  // namespace cambrian::gpu
