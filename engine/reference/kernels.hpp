#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/engine/reference/reference.hpp"

// The kernels of the reference backend. Internal to engine/reference.
namespace cambrian::reference {

/// Elements of one value of one individual. Integers and booleans are held exactly.
using Elements = std::vector<double>;

/// One node to compute for one individual.
struct Call {
    const Graph& graph;
    const Node& node;
    Precision precision;
    std::span<const Elements* const> operands;
    std::span<Elements> results;  ///< Sized and zero-filled.

    [[nodiscard]] const ValueInfo& operand_info(std::size_t index) const {
        return graph.value(graph.operands(node)[index]);
    }
    [[nodiscard]] const ValueInfo& result_info(std::size_t index = 0) const {
        return graph.value(ValueId{node.first_result + static_cast<std::uint32_t>(index)});
    }
    [[nodiscard]] const Elements& operand(std::size_t index = 0) const { return *operands[index]; }
    [[nodiscard]] Elements& result() const { return results[0]; }
    template <class T>
    [[nodiscard]] const T& attribute() const {
        return std::get<T>(node.attributes);
    }
};

/// What sin and cos make of an angle first; infinities give NaN.
inline double limited_angle(double x) {
    return std::isinf(x) ? x : std::clamp(x, -elementary::largest_angle, elementary::largest_angle);
}

using Kernel = void (*)(const Call& call);

void iota(const Call& call);
void random(const Call& call);
void cast(const Call& call);
void copy(const Call& call);
void reduce_sum(const Call& call);
void reduce_max(const Call& call);
void argmax(const Call& call);
void permute(const Call& call);
void broadcast(const Call& call);
void slice(const Call& call);
void pad(const Call& call);
void concat(const Call& call);
void matmul(const Call& call);
void gather(const Call& call);
void scatter_add(const Call& call);
void cumsum(const Call& call);
void sort(const Call& call);
void flip(const Call& call);
void take_along_axis(const Call& call);
void scatter_add_along_axis(const Call& call);
void im2col(const Call& call);
void col2im(const Call& call);
void scan(const Call& call);
void interpret(const Call& call);
void encode(const Call& call);
void decode(const Call& call);
void unpack(const Call& call);

/// The kernel of an elementwise arithmetic or logic op, or null.
[[nodiscard]] Kernel elementwise_kernel(Op op);
/// The kernel of every op but input and constant; fused ops are lowered before.
[[nodiscard]] Kernel kernel(Op op);

/// Values of all outputs of a graph for one individual.
[[nodiscard]] std::vector<Elements> evaluate(const Graph& graph, Precision precision,
                                             std::span<const Elements* const> inputs);

/// A real number as the precision holds it.
[[nodiscard]] inline double rounded(double x, Precision precision) {
    return precision == Precision::f64 ? x : static_cast<double>(static_cast<float>(x));
}
/// Sum and product of two held reals, rounded to the precision.
[[nodiscard]] inline double sum(double a, double b, Precision precision) {
    if (precision == Precision::f64) return a + b;
    return static_cast<double>(static_cast<float>(a) + static_cast<float>(b));
}
[[nodiscard]] inline double product(double a, double b, Precision precision) {
    if (precision == Precision::f64) return a * b;
    return static_cast<double>(static_cast<float>(a) * static_cast<float>(b));
}
/// An integer result as int32 holds it: overflow wraps.
[[nodiscard]] inline double wrapped(std::int64_t x) {
    return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(x)));
}
/// Sum of two numbers of the call's result type.
[[nodiscard]] inline double sum_of(const Call& call, double a, double b) {
    if (call.result_info().type == ValueType::integer)
        return wrapped(static_cast<std::int64_t>(a) + static_cast<std::int64_t>(b));
    return sum(a, b, call.precision);
}
/// The index as a position in [0, extent); throws InputError when it is not one.
[[nodiscard]] std::size_t checked_index(const Call& call, double index, std::int64_t extent);

/// Position of the element of a broadcast operand that a result element reads.
class BroadcastIndex {
  public:
    BroadcastIndex(const Shape& operand, const Shape& result);
    [[nodiscard]] std::size_t operator()(std::size_t result_position) const;

  private:
    std::array<std::int64_t, Shape::max_rank> strides_{};
    std::array<std::int64_t, Shape::max_rank> extents_{};
    int rank_ = 0;
    bool identity_ = false;
};

/// A shape seen as [outer, axis, inner].
struct AxisView {
    std::size_t outer = 1;
    std::size_t extent = 1;
    std::size_t inner = 1;
    AxisView(const Shape& shape, int axis);
    [[nodiscard]] std::size_t position(std::size_t o, std::size_t k, std::size_t i) const {
        return (o * extent + k) * inner + i;
    }
};

}  // namespace cambrian::reference
