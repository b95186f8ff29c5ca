#pragma once

#include <array>
#include <concepts>
#include <span>
#include <utility>
#include <vector>

#include "cambrian/engine/eager/eager_session.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

// Operations on eager tensors. Those of one or two operands are those of the op table; `apply`
// takes every other builder of engine/graph/builders.
namespace cambrian {

/// Records what `build` appends for operands of one session: takes a Var for each, returns a Var.
///
///     const EagerTensor p = apply([](Var x) { return softmax(x, -1); }, logits);
template <class Build, std::same_as<EagerTensor>... More>
[[nodiscard]] EagerTensor apply(const Build& build, const EagerTensor& first, const More&... more) {
    const std::array operands{first, more...};
    return record(operands, [&](std::span<const Var> vars) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::vector<Var>{build(vars[I]...)};
        }
        (std::make_index_sequence<1 + sizeof...(More)>{});
    })[0];
}

[[nodiscard]] inline EagerTensor operator-(const EagerTensor& x) {
    return apply([](Var v) { return -v; }, x);
}

// The operators of two tensors, which broadcast like NumPy, and of a tensor and a number. A number
// is a part of the program: one that changes from step to step belongs in a tensor of rank 0.
#define CAMBRIAN_EAGER_OPERATOR(symbol)                                                            \
    [[nodiscard]] inline EagerTensor operator symbol(const EagerTensor& a, const EagerTensor& b) { \
        return apply([](Var v, Var w) { return v symbol w; }, a, b);                               \
    }                                                                                              \
    [[nodiscard]] inline EagerTensor operator symbol(const EagerTensor& a, double b) {             \
        return apply([b](Var v) { return v symbol b; }, a);                                        \
    }                                                                                              \
    [[nodiscard]] inline EagerTensor operator symbol(double a, const EagerTensor& b) {             \
        return apply([a](Var v) { return a symbol v; }, b);                                        \
    }
CAMBRIAN_EAGER_OPERATOR(+)
CAMBRIAN_EAGER_OPERATOR(-)
CAMBRIAN_EAGER_OPERATOR(*)
CAMBRIAN_EAGER_OPERATOR(/)
#undef CAMBRIAN_EAGER_OPERATOR

#define CAMBRIAN_UNARY(name, ...)                                                                 \
    [[nodiscard]] inline EagerTensor name(const EagerTensor& x, Where where = Where::current()) { \
        return apply([&](Var v) { return cambrian::name(v, where); }, x);                         \
    }
#define CAMBRIAN_BINARY(name, ...)                                                     \
    [[nodiscard]] inline EagerTensor name(const EagerTensor& a, const EagerTensor& b,  \
                                          Where where = Where::current()) {            \
        return apply([&](Var v, Var w) { return cambrian::name(v, w, where); }, a, b); \
    }
#include "cambrian/engine/graph/op_table.inl"

[[nodiscard]] inline EagerTensor square(const EagerTensor& x, Where where = Where::current()) {
    return apply([&](Var v) { return square(v, where); }, x);
}
[[nodiscard]] inline EagerTensor matmul(const EagerTensor& a, const EagerTensor& b,
                                        bool transpose_left = false, bool transpose_right = false,
                                        Where where = Where::current()) {
    return apply([&](Var v, Var w) { return matmul(v, w, transpose_left, transpose_right, where); },
                 a, b);
}
[[nodiscard]] inline EagerTensor select(const EagerTensor& condition, const EagerTensor& a,
                                        const EagerTensor& b, Where where = Where::current()) {
    return apply([&](Var c, Var v, Var w) { return select(c, v, w, where); }, condition, a, b);
}
[[nodiscard]] inline EagerTensor sum_all(const EagerTensor& x, Where where = Where::current()) {
    return apply([&](Var v) { return sum_all(v, where); }, x);
}
[[nodiscard]] inline EagerTensor mean_all(const EagerTensor& x, Where where = Where::current()) {
    return apply([&](Var v) { return mean_all(v, where); }, x);
}

}  // namespace cambrian
