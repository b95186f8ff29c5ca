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
constexpr RowOp movement(Op op, RowSplit (*split)(const RowSite&),
                         void (*write)(RowWriter&, const Node&)) {
    return {.op = op, .split = split, .write = write, .moves = true};
}
constexpr RowOp other(Op op, RowSplit (*split)(const RowSite&),
                      void (*write)(RowWriter&, const Node&), std::int64_t cost = 1) {
    return {.op = op, .split = split, .write = write, .cost = cost};
}

// clang-format off
/// Of the ops that are more than an expression of one operation or function, in any order. What is
/// neither elementwise nor listed has no place in row kernels; inputs are placed before.
constexpr std::array own_rows{
    movement(Op::constant, row_split::shared, row_write::constant),
    movement(Op::iota, row_split::shared, row_write::iota),
    other(Op::random, row_split::random, row_write::random, 40),
    elementwise(Op::sign, 4),
    elementwise(Op::round, 4),
    elementwise(Op::floor, 6),
    elementwise(Op::expm1, 2 * function_cost),
    other(Op::logical_not, row_split::elementwise, row_write::logical_not),
    other(Op::cast, row_split::elementwise, row_write::cast),
    movement(Op::stop_gradient, row_split::elementwise, row_write::same),
    other(Op::div, row_split::elementwise, row_write::div, 2 * function_cost),
    elementwise(Op::pow, 6 * function_cost),
    elementwise(Op::min, 2),
    elementwise(Op::max, 2),
    other(Op::logical_and, row_split::elementwise, row_write::logical_and),
    other(Op::logical_or, row_split::elementwise, row_write::logical_or),
    other(Op::select, row_split::elementwise, row_write::select),
    other(Op::reduce_sum, row_split::reduce, row_write::reduce),
    other(Op::reduce_max, row_split::reduce, row_write::reduce),
    other(Op::argmax, row_split::reduce, row_write::argmax),
    movement(Op::reshape, row_split::reshape, row_write::reshape),
    movement(Op::permute, row_split::permute, row_write::permute),
    movement(Op::broadcast, row_split::broadcast, row_write::broadcast),
    movement(Op::slice, row_split::slice, row_write::slice),
    other(Op::pad, row_split::pad, row_write::pad),
    other(Op::concat, row_split::concat, row_write::concat),
    other(Op::matmul, row_split::matmul, row_write::matmul, 2),
    other(Op::gather, row_split::gather, row_write::gather, 2),
    other(Op::interpret, row_split::interpret, row_write::interpret, 2),
    other(Op::activate, row_split::elementwise, row_write::activate, 2 * function_cost),
    other(Op::activate_any, row_split::elementwise, row_write::activate, 8 * function_cost),
};
// clang-format on

constexpr std::array<RowOp, op_count> all_rows() {
    std::array<RowOp, op_count> rows{
#define CAMBRIAN_OP(name, ...) none(Op::name),
#define CAMBRIAN_ELEMENTWISE(name, ...) elementwise(Op::name),
#define CAMBRIAN_REAL_FUNCTION(name, ...) elementwise(Op::name, function_cost),
#include "cambrian/engine/graph/op_table.inl"
    };
    for (const RowOp& row : own_rows) rows[static_cast<std::size_t>(row.op)] = row;
    return rows;
}
constexpr std::array<RowOp, op_count> row_op_rows = all_rows();

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
