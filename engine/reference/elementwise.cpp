#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"
#include "cambrian/engine/reference/kernels.hpp"

namespace cambrian::reference {
namespace {

/// Kernel of a real function of one operand: `Exact` in double, `Own` in float.
template <auto Exact, auto Own>
void real_unary(const Call& call) {
    const Elements& x = call.operand();
    for (std::size_t i = 0; i < x.size(); ++i)
        call.result()[i] = call.precision == Precision::f64
                               ? Exact(x[i])
                               : static_cast<double>(Own(static_cast<float>(x[i])));
}

/// Kernel of a function of one operand that is exact in every type.
template <auto Function>
void exact_unary(const Call& call) {
    const Elements& x = call.operand();
    const bool integer = call.result_info().type == ValueType::integer;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double y = Function(x[i]);
        call.result()[i] = integer ? wrapped(static_cast<std::int64_t>(y)) : y;
    }
}

template <class Function>
void for_each_pair(const Call& call, Function function) {
    const Shape& shape = call.result_info().shape;
    const BroadcastIndex left(call.operand_info(0).shape, shape);
    const BroadcastIndex right(call.operand_info(1).shape, shape);
    for (std::size_t i = 0; i < call.result().size(); ++i)
        call.result()[i] = function(call.operand(0)[left(i)], call.operand(1)[right(i)]);
}

/// Kernel of an arithmetic function of two operands: exact in integers, rounded in reals.
template <auto Exact, auto Own, auto Integer>
void arithmetic(const Call& call) {
    const bool integer = call.result_info().type == ValueType::integer;
    for_each_pair(call, [&](double a, double b) {
        if (integer)
            return wrapped(Integer(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
        if (call.precision == Precision::f64) return double{Exact(a, b)};
        return static_cast<double>(Own(static_cast<float>(a), static_cast<float>(b)));
    });
}

/// Kernel of a function of two operands whose result is one of them or a boolean.
template <auto Function>
void choice(const Call& call) {
    for_each_pair(call, [](double a, double b) { return static_cast<double>(Function(a, b)); });
}

void select(const Call& call) {
    const Shape& shape = call.result_info().shape;
    const BroadcastIndex condition(call.operand_info(0).shape, shape);
    const BroadcastIndex left(call.operand_info(1).shape, shape);
    const BroadcastIndex right(call.operand_info(2).shape, shape);
    for (std::size_t i = 0; i < call.result().size(); ++i)
        call.result()[i] = call.operand(0)[condition(i)] != 0.0 ? call.operand(1)[left(i)]
                                                                : call.operand(2)[right(i)];
}

/// What the functions of the op table are in double: the library's, or these.
namespace exact {
using namespace std;  // NOLINT(google-build-using-namespace): looked up as exact::<name> only.
double sin(double x) {
    return std::sin(limited_angle(x));
}
double cos(double x) {
    return std::cos(limited_angle(x));
}
double rsqrt(double x) {
    return 1.0 / std::sqrt(x);
}
double reciprocal(double x) {
    return 1.0 / x;
}
double sigmoid(double x) {
    return 1.0 / (1.0 + std::exp(-x));
}
}  // namespace exact

double sign_of(double x) {
    if (x > 0.0) return 1.0;
    return x < 0.0 ? -1.0 : 0.0;
}

constexpr auto add = [](auto a, auto b) { return a + b; };
constexpr auto sub = [](auto a, auto b) { return a - b; };
constexpr auto mul = [](auto a, auto b) { return a * b; };

std::int64_t integer_quotient(std::int64_t a, std::int64_t b) {
    if (b == 0) throw InputError(std::string(division_by_zero));
    return a / b;
}

struct ElementwiseKernel {
    Op op;
    Kernel kernel;
};

constexpr std::array elementwise_kernels{
    ElementwiseKernel{Op::neg, exact_unary<[](double x) { return -x; }>},
    ElementwiseKernel{Op::abs, exact_unary<[](double x) { return std::fabs(x); }>},
    ElementwiseKernel{Op::sign, exact_unary<sign_of>},
    ElementwiseKernel{Op::round, exact_unary<[](double x) { return std::nearbyint(x); }>},
    ElementwiseKernel{Op::floor, exact_unary<[](double x) { return std::floor(x); }>},
#define CAMBRIAN_REAL_FUNCTION(name, ...)                                           \
    ElementwiseKernel{Op::name, real_unary<[](double x) { return exact::name(x); }, \
                                           [](float x) { return elementary::name(x); }>},
#include "cambrian/engine/graph/op_table.inl"
    ElementwiseKernel{Op::is_finite,
                      exact_unary<[](double x) { return std::isfinite(x) ? 1.0 : 0.0; }>},
    ElementwiseKernel{Op::logical_not, exact_unary<[](double x) { return x == 0.0 ? 1.0 : 0.0; }>},
    ElementwiseKernel{Op::add, arithmetic<add, add, add>},
    ElementwiseKernel{Op::sub, arithmetic<sub, sub, sub>},
    ElementwiseKernel{Op::mul, arithmetic<mul, mul, mul>},
    ElementwiseKernel{
        Op::div,
        arithmetic<[](double a, double b) { return a / b; },
                   [](float a, float b) { return elementary::divide(a, b); }, integer_quotient>},
    ElementwiseKernel{
        Op::pow,
        arithmetic<[](double a, double b) { return std::pow(a, b); },
                   [](float a, float b) { return elementary::pow(a, b); }, integer_quotient>},
    ElementwiseKernel{Op::min, choice<[](double a, double b) { return a < b ? a : b; }>},
    ElementwiseKernel{Op::max, choice<[](double a, double b) { return b < a ? a : b; }>},
    ElementwiseKernel{Op::less, choice<[](double a, double b) { return a < b; }>},
    ElementwiseKernel{Op::equal, choice<[](double a, double b) { return a == b; }>},
    ElementwiseKernel{Op::logical_and,
                      choice<[](double a, double b) { return a != 0.0 && b != 0.0; }>},
    ElementwiseKernel{Op::logical_or,
                      choice<[](double a, double b) { return a != 0.0 || b != 0.0; }>},
    ElementwiseKernel{Op::select, select},
};

}  // namespace

Kernel elementwise_kernel(Op op) {
    for (const ElementwiseKernel& row : elementwise_kernels)
        if (row.op == op) return row.kernel;
    return nullptr;
}

}  // namespace cambrian::reference
