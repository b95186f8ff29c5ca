#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/cpu/execution/kernel.hpp"
#include "cambrian/engine/cpu/execution/lift.hpp"
#include "cambrian/engine/graph/graph.hpp"

// Kernels over the rows of transposed values. Results are rows of individuals, never shared.
namespace cambrian::cpu {

/// Where one element of a value of a transposed graph lies: a row with one word for each individual
/// of a block, or one word for all of them.
struct ElementRow {
    std::uint32_t slot = 0;  ///< Of the frame.
    std::int64_t index = 0;  ///< Rows, or words of a shared slot, before it.
    bool shared = false;
    bool operator==(const ElementRow&) const = default;
};
using ElementRows = std::vector<ElementRow>;

/// The rows of consecutive elements, from `first` on.
[[nodiscard]] ElementRows consecutive_rows(const ElementRow& first, std::int64_t count);

/// Whether an op only moves elements, so that nothing has to be computed for it.
[[nodiscard]] bool only_moves(Op op);
/// The rows of the result of such an op.
[[nodiscard]] ElementRows moved_rows(const Graph& graph, const Node& node,
                                     std::span<const ElementRows* const> operands);

/// The rows of an operand that is broadcast to a shape, in the order of its elements.
[[nodiscard]] ElementRows broadcast_rows(const ElementRows& rows, const Shape& shape,
                                         const Shape& result);

/// A lifted function of one element of each operand, for every element of the result.
[[nodiscard]] std::unique_ptr<Kernel> make_transposed_elementwise(
    const LoopSet& rows, const ElementRows& result, std::span<const ElementRows> operands);

/// An activation of a set by a gene code, which is a row of its own or shared.
[[nodiscard]] std::unique_ptr<Kernel> make_transposed_activate(const ElementRows& result,
                                                               const ElementRows& operand,
                                                               const ElementRow& code,
                                                               ActivationSet set);

/// Sums or maxima of `length` elements each, from the first to the last: element i of the result
/// folds operand[i * length ..].
[[nodiscard]] std::unique_ptr<Kernel> make_transposed_fold(Op op, ValueType type,
                                                           const ElementRows& result,
                                                           const ElementRows& operand,
                                                           std::int64_t length);

/// Rows of a product: element (i, j) of the result [m, n] is the sum over k of left(i, k) and
/// right(j, k), in ascending order from 0, fused under fast math.
struct TransposedProduct {
    /// Fast math sums blocks of so many products (see gemm.hpp); more are not taken.
    static constexpr std::int64_t max_depth = 256;
    ElementRows result;  ///< m n, consecutive.
    ElementRows left;    ///< m k, of individuals.
    ElementRows right;   ///< n k.
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    Math math = Math::fast;
};
[[nodiscard]] std::unique_ptr<Kernel> make_transposed_product(TransposedProduct product);

/// Individuals whose elements follow each other.
struct IndividualWords {
    Word* first = nullptr;    ///< Of the first individual.
    std::int64_t stride = 0;  ///< Words from one to the next.
    std::int64_t count = 0;
};
/// Turns elements of individuals into rows of `width` words, and back. The words after the last
/// individual are copies of it.
void transpose_to_rows(const IndividualWords& from, std::int64_t elements, Word* rows,
                       std::int64_t width);
void transpose_from_rows(const Word* rows, std::int64_t width, std::int64_t elements,
                         const IndividualWords& to);

/// Where an element's row begins, where rows have `count` words.
[[nodiscard]] inline Word* row_of(const Frame& frame, const ElementRow& row, std::int64_t count) {
    return reinterpret_cast<Word*>(frame.slots[row.slot]) +
           row.index * (row.shared ? std::int64_t{1} : count);
}

}  // namespace cambrian::cpu
