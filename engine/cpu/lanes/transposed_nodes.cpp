#include "cambrian/engine/cpu/lanes/transposed_nodes.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/lanes/transposed_kernels.hpp"
#include "cambrian/engine/tensor/shape.hpp"

namespace cambrian::cpu {

namespace {

// Elements of a right operand up to which rows of individuals beat one product after another, by
// its measured speed: a matrix for each individual, and one for all.
constexpr std::int64_t max_own_elements = 128;
constexpr std::int64_t max_shared_elements = 256;

bool any_shared(const ElementRows& rows) {
    return std::ranges::any_of(rows, &ElementRow::shared);
}

std::unique_ptr<Kernel> elementwise(const TransposedNode& at) {
    std::vector<ElementRows> operands;
    for (std::size_t i = 0; i < at.operands.size(); ++i)
        operands.push_back(broadcast_rows(*at.operands[i], at.operand(i).shape, at.shape()));
    return make_transposed_elementwise(*rows_of(at.graph, at.node), at.results[0], operands);
}

std::unique_ptr<Kernel> activation(const TransposedNode& at) {
    if (any_shared(*at.operands[0])) return nullptr;
    return make_transposed_activate(at.results[0], *at.operands[0], at.operands[1]->front(),
                                    activation_set(at.node.op));
}

std::unique_ptr<Kernel> fold(const TransposedNode& at) {
    const AxisSplit split(at.operand(0).shape, std::get<AxisAttribute>(at.node.attributes).axis);
    if (split.length == 0 || any_shared(*at.operands[0])) return nullptr;
    ElementRows folded;
    for (std::int64_t o = 0; o < split.outer; ++o)
        for (std::int64_t i = 0; i < split.inner; ++i)
            for (std::int64_t k = 0; k < split.length; ++k)
                folded.push_back((*at.operands[0])[static_cast<std::size_t>(
                    (o * split.length + k) * split.inner + i)]);
    return make_transposed_fold(at.node.op, at.operand(0).type, at.results[0], folded,
                                split.length);
}

/// The rows of a matrix of `lines` lines of `depth` elements, which is stored so or transposed.
ElementRows lines_of(const ElementRows& matrix, std::int64_t lines, std::int64_t depth,
                     bool is_transposed) {
    ElementRows rows;
    rows.reserve(matrix.size());
    for (std::int64_t line = 0; line < lines; ++line)
        for (std::int64_t k = 0; k < depth; ++k)
            rows.push_back(matrix[static_cast<std::size_t>(is_transposed ? k * lines + line
                                                                         : line * depth + k)]);
    return rows;
}

/// One matrix for each operand, the left one of individuals.
std::unique_ptr<Kernel> product(const TransposedNode& at) {
    const auto& flags = std::get<MatmulAttribute>(at.node.attributes);
    TransposedProduct product;
    product.m = at.shape()[-2];
    product.n = at.shape()[-1];
    product.k = at.operand(0).shape[flags.transpose_left ? -2 : -1];
    product.math = at.math;
    if (at.shape().elements() != product.m * product.n ||
        at.operand(0).shape.elements() != product.m * product.k ||
        at.operand(1).shape.elements() != product.n * product.k || product.k < 1 ||
        product.k > TransposedProduct::max_depth)
        return nullptr;
    product.result = at.results[0];
    product.left = lines_of(*at.operands[0], product.m, product.k, flags.transpose_left);
    product.right = lines_of(*at.operands[1], product.n, product.k, !flags.transpose_right);
    const bool one = std::ranges::all_of(product.right, &ElementRow::shared);
    if (any_shared(product.left) || (!one && any_shared(product.right))) return nullptr;
    if (product.n * product.k > (one ? max_shared_elements : max_own_elements)) return nullptr;
    return make_transposed_product(std::move(product));
}

struct NodeRow {
    Op op;
    std::unique_ptr<Kernel> (*make)(const TransposedNode& node);
};

/// All that is not a lifted scalar function.
constexpr std::array rows{
    NodeRow{Op::activate, activation}, NodeRow{Op::activate_any, activation},
    NodeRow{Op::reduce_sum, fold},     NodeRow{Op::reduce_max, fold},
    NodeRow{Op::matmul, product},      NodeRow{Op::interpret, make_transposed_interpret},
};

}  // namespace

bool reads_in_place(Op op, std::size_t operand) {
    return op == Op::interpret && operand < 2;
}

std::unique_ptr<Kernel> make_transposed_kernel(const TransposedNode& node) {
    if (rows_of(node.graph, node.node) != nullptr) return elementwise(node);
    const auto* const row = std::ranges::find(rows, node.node.op, &NodeRow::op);
    return row == rows.end() ? nullptr : row->make(node);
}

}  // namespace cambrian::cpu
