#include "cambrian/engine/graph/builders/contraction.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"

namespace cambrian {
namespace {

/// Rows of length 1, of zeros where they were.
Var unit_rows(Var x, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    const Var zero = constant(*x.graph, 0.0);
    const Var one = constant(*x.graph, 1.0);
    const Var largest = stop_gradient(reduce_max(abs(x, where), -1, true, where), where);
    const Var nonzero = less(zero, largest, where);
    const Var scaled = at(x) / at(select(nonzero, largest, one, where));
    const Var squares = reduce_sum(square(scaled, where), -1, true, where);
    const Var inverse = rsqrt(select(nonzero, squares, one, where), where);
    return at(scaled) * at(select(nonzero, inverse, zero, where));
}

/// The matrix of signs (-1)^(number of bits that i and j share).
Tensor hadamard_matrix(std::int64_t size) {
    std::vector<double> signs;
    for (std::int64_t i = 0; i < size; ++i)
        for (std::int64_t j = 0; j < size; ++j)
            signs.push_back(std::popcount(static_cast<std::uint64_t>(i & j)) % 2 == 0 ? 1.0 : -1.0);
    return {ValueType::real, Shape{size, size}, std::move(signs)};
}

}  // namespace

Var matmul(Var a, Var b, bool transpose_left, bool transpose_right, Where where) {
    const std::array operands{a, b};
    return a.graph->add(Op::matmul, operands, MatmulAttribute{transpose_left, transpose_right},
                        where);
}

Var cosine_similarity(Var a, Var b, Where where) {
    return matmul(unit_rows(a, where), unit_rows(b, where), false, true, where);
}

Var hadamard(Var x, Where where) {
    const Shape shape = x.shape();
    if (shape.rank() == 0 || !std::has_single_bit(static_cast<std::uint64_t>(shape[-1])))
        fail_node(Op::matmul, std::span(&x, 1), "(the last axis is no power of two) pad it", where);
    // The matrix is a Kronecker product: one small product for six bits of the position at a time.
    constexpr std::int64_t largest_factor = 64;
    Var value = x;
    std::int64_t after = 1;
    for (std::int64_t rest = shape[-1]; rest > 1;) {
        const std::int64_t factor = std::min(rest, largest_factor);
        const std::int64_t before = shape.elements() / (factor * after);
        const Var matrix = x.graph->constant(hadamard_matrix(factor));
        value = reshape(value, Shape{before, factor, after}, where);
        value = after == 1 ? matmul(reshape(value, Shape{before, factor}, where), matrix, false,
                                    false, where)
                           : matmul(matrix, value, false, false, where);
        after *= factor;
        rest /= factor;
    }
    const double scale = 1.0 / std::sqrt(static_cast<double>(shape[-1]));
    return reshape(scale * Operand(value, where), shape, where);
}

}  // namespace cambrian
