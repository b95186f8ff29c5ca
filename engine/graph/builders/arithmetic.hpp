#pragma once

#include <initializer_list>
#include <source_location>
#include <span>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

// The vocabulary graphs are written in. Every function appends to the graph of its operands, checks
// shapes at once and throws ShapeError with the caller's location. Axes count from the end when
// negative.
namespace cambrian {

using Where = std::source_location;

/// An operand of an operator and the place it is used at, so that `a + b` can say where it failed.
struct Operand {
    Var value;
    Where where;
    Operand(Var v, Where w = Where::current()) : value(v), where(w) {}
};

// Elementwise. Binary operators broadcast like NumPy; numbers become constants (integer ones beside
// integer operands).
Var operator-(Operand x);
Var operator+(Operand a, Operand b);
Var operator-(Operand a, Operand b);
Var operator*(Operand a, Operand b);
/// Integers are divided toward zero, and a divisor of 0 is an InputError at run time.
Var operator/(Operand a, Operand b);
Var operator+(Operand a, double b);
Var operator+(double a, Operand b);
Var operator-(Operand a, double b);
Var operator-(double a, Operand b);
Var operator*(Operand a, double b);
Var operator*(double a, Operand b);
Var operator/(Operand a, double b);
Var operator/(double a, Operand b);
Var abs(Var x, Where where = Where::current());
/// -1, 0 or 1.
Var sign(Var x, Where where = Where::current());
/// To the nearest integer, ties to even.
Var round(Var x, Where where = Where::current());
Var floor(Var x, Where where = Where::current());
Var exp(Var x, Where where = Where::current());
Var log(Var x, Where where = Where::current());
Var sqrt(Var x, Where where = Where::current());
Var rsqrt(Var x, Where where = Where::current());
Var reciprocal(Var x, Where where = Where::current());
Var sin(Var x, Where where = Where::current());
Var cos(Var x, Where where = Where::current());
Var tanh(Var x, Where where = Where::current());
Var sigmoid(Var x, Where where = Where::current());
/// 2 / sqrt(pi) times the integral of e^(-t t) from 0 to x.
Var erf(Var x, Where where = Where::current());
/// ln(1 + x), exact near 0.
Var log1p(Var x, Where where = Where::current());
/// e^x - 1, exact near 0.
Var expm1(Var x, Where where = Where::current());
Var square(Var x, Where where = Where::current());
Var is_finite(Var x, Where where = Where::current());
/// a^b with the special values of C's pow. Its gradient for b is 0 where a = 0, NaN where a < 0.
Var pow(Var a, Var b, Where where = Where::current());
Var pow(Var a, double b, Where where = Where::current());
Var min(Var a, Var b, Where where = Where::current());
Var max(Var a, Var b, Where where = Where::current());
/// a < b, boolean.
Var less(Var a, Var b, Where where = Where::current());
Var less(Var a, double b, Where where = Where::current());
Var less(double a, Var b, Where where = Where::current());
Var equal(Var a, Var b, Where where = Where::current());
Var logical_and(Var a, Var b, Where where = Where::current());
Var logical_or(Var a, Var b, Where where = Where::current());
Var logical_not(Var a, Where where = Where::current());
/// condition ? a : b, broadcasting all three. A value not chosen never reaches the result, NaN
/// included.
Var select(Var condition, Var a, Var b, Where where = Where::current());
/// real → integer truncates toward zero; anything → boolean is x != 0.
Var cast(Var x, ValueType type, Where where = Where::current());
/// The identity, with no gradient.
Var stop_gradient(Var x, Where where = Where::current());

// Reductions. Without keep the axis disappears.
Var reduce_sum(Var x, int axis, bool keep = false, Where where = Where::current());
Var reduce_mean(Var x, int axis, bool keep = false, Where where = Where::current());
/// The largest element; its gradient goes to the first maximum.
Var reduce_max(Var x, int axis, bool keep = false, Where where = Where::current());
/// Sum of every element, rank 0. Reduces the last axis first.
Var sum_all(Var x, Where where = Where::current());
Var mean_all(Var x, Where where = Where::current());
/// Index of the first maximum, integer.
Var argmax(Var x, int axis, Where where = Where::current());

// Movement.
/// One extent may be -1 and is inferred.
Var reshape(Var x, std::initializer_list<std::int64_t> extents, Where where = Where::current());
Var reshape(Var x, const Shape& shape, Where where = Where::current());
Var permute(Var x, std::initializer_list<int> order, Where where = Where::current());
/// Swaps the last two axes.
Var transpose(Var x, Where where = Where::current());
Var broadcast(Var x, const Shape& shape, Where where = Where::current());
Var slice(Var x, int axis, std::int64_t start, std::int64_t length, Where where = Where::current());
Var pad(Var x, int axis, std::int64_t before, std::int64_t after, Where where = Where::current());
Var concat(std::span<const Var> parts, int axis, Where where = Where::current());
/// New leading axis over equal shapes.
Var stack(std::span<const Var> parts, Where where = Where::current());

// Contraction, indexing, sources.
/// [.., m, k] × [.., k, n] → [.., m, n]; leading axes broadcast like NumPy. The flags read an
/// operand transposed in its last two axes.
Var matmul(Var a, Var b, bool transpose_left = false, bool transpose_right = false,
           Where where = Where::current());
/// Rows of table [V, ..] at integer indices [I..] → [I.., ..]. An index outside [0, V) is an
/// InputError at run time.
Var gather(Var table, Var indices, Where where = Where::current());
/// Adds rows [I.., ..] at integer indices [I..] into zeros [rows, ..], in index order.
Var scatter_add(Var rows, Var indices, std::int64_t row_count, Where where = Where::current());
/// 0, 1, .. length - 1 as integers.
Var iota(Graph& graph, std::int64_t length, Where where = Where::current());
/// Uniforms in [0, 1): key is integer [2] (low and high word of a RandomKey), ids integer [I..];
/// → real [I.., draws], draw d of id i = word d of RandomStream(key, i).
Var random(Var key, Var ids, std::int64_t draws, Where where = Where::current());
Var constant(Graph& graph, double value, ValueType type = ValueType::real);

/// The activation of a gene code (integer scalar, per individual or shared), elementwise. A
/// constant code becomes the plain function.
Var activate(Var x, Var code, Where where = Where::current());
Var activate(Var x, Activation activation, Where where = Where::current());

/// Softmax along an axis, shifted by the maximum.
Var softmax(Var x, int axis = -1, Where where = Where::current());
/// log(softmax(x)).
Var log_softmax(Var x, int axis = -1, Where where = Where::current());

struct ScanResult {
    std::vector<Var> carries;  ///< Final values.
    std::vector<Var> stacked;  ///< [length, ...] each.
};
/// How far a gradient walks back through a scan and what it keeps; see ScanAttribute.
struct GradientSteps {
    std::int64_t truncate = 0;
    std::int64_t checkpoint_every = 0;
};
/// Appends a loop; see ScanAttribute. `length` is needed when there are no sequences (else it must
/// agree).
ScanResult scan(Graph body, std::span<const Var> carries, std::span<const Var> sequences,
                std::span<const Var> invariants, std::int64_t length, bool reverse = false,
                int alive_carry = -1, GradientSteps gradient_steps = {},
                Where where = Where::current());

/// Copies the nodes of `source` into `target` with source's inputs replaced by `inputs` (shapes and
/// types must agree); returns source's outputs as values of target.
std::vector<Var> inline_graph(Graph& target, const Graph& source, std::span<const Var> inputs);

}  // namespace cambrian
