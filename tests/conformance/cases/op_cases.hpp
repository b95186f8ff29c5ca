#pragma once

#include <string>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

namespace cambrian::test {

/// Where the elements of an operand are drawn from, so that the op is smooth there.
enum class Range {
    wide,       ///< Reals in [-2, 2).
    positive,   ///< Reals in [0.5, 2.5).
    nonzero,    ///< Reals of both signs, 0.5 to 2.5 from zero.
    off_grid,   ///< Reals 0.1 to 0.4 above an integer of both signs.
    packed,     ///< Reals in [-2, 2), but -0 where `elements` is not 0.
    integers,   ///< Integers in [-50, 50).
    one_digit,  ///< Integers of both signs, 1 to 9 from zero.
    index,      ///< Integers in [0, bound).
    fixed,      ///< The integer `bound`.
    given,      ///< The integers `elements`, for every individual.
    boolean,
};

struct OperandCase {
    Range range = Range::wide;
    Shape shape;
    std::int64_t bound = 0;
    std::vector<std::int32_t> elements = {};
    [[nodiscard]] ValueType type() const;
};

struct ResultCase {
    Shape shape;
    ValueType type = ValueType::real;
};

/// One small use of an op: what it gets and which shapes and types it must give.
struct OpCase {
    Op op = Op::count_;
    std::vector<OperandCase> operands;
    Attributes attributes;
    std::vector<ResultCase> results;
    [[nodiscard]] std::string label() const;
    /// Whether gradients reach its operands: none pass codes, of packed products with epilogues and
    /// of packed convolutions either.
    [[nodiscard]] bool differentiable() const;
};

/// At least one case for every op.
[[nodiscard]] std::vector<OpCase> op_cases();

/// Attention, its gradient, and what steps of generation make of caches.
[[nodiscard]] std::vector<OpCase> attention_cases();

/// Codes of storage formats.
[[nodiscard]] std::vector<OpCase> format_cases();

/// Networks that are data.
[[nodiscard]] std::vector<OpCase> interpret_cases();

/// The cases of scan, whose bodies need more room to write.
[[nodiscard]] std::vector<OpCase> scan_cases();

/// The cases of selective_scan and of its gradient.
[[nodiscard]] std::vector<OpCase> selective_scan_cases();

/// Running sums, orders and elements by index along an axis.
[[nodiscard]] std::vector<OpCase> order_cases();

/// Windows over one to three axes.
[[nodiscard]] std::vector<OpCase> window_cases();

/// Elements for one operand of a case, of one individual; the same for equal arguments.
[[nodiscard]] Tensor draw_operand(const OperandCase& operand, std::uint64_t seed);

}  // namespace cambrian::test
