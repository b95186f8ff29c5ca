#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Internal to engine/graph.
namespace cambrian {

/// What every softmax is made of: e^(x - shift) along an axis, where shift is the largest element.
/// Where all elements are −∞ the shift is 0 and the exponentials are zeros, as if of nothing.
struct Exponentials {
    Var shift;  ///< Axis kept; no gradient flows through it.
    Var values;
    Var sum;  ///< Axis kept.
};
[[nodiscard]] Exponentials exponentials(Var x, int axis, Where where);

/// 1 / sum, 1 where there was nothing to sum.
[[nodiscard]] Var reciprocal_of_sum(const Exponentials& e, Where where);

}  // namespace cambrian
