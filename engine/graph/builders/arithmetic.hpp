#pragma once

#include <source_location>

#include "cambrian/engine/graph/graph.hpp"

// Elementwise builders. Like every builder they append to the graph of their operands, check shapes
// at once and throw ShapeError with the caller's location.
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

// A builder for each op of one or two operands, named like it: what it computes is its row of
// op_table.inl, which `cambrian ops` prints.
#define CAMBRIAN_UNARY(name, ...) Var name(Var x, Where where = Where::current());
#define CAMBRIAN_BINARY(name, ...) Var name(Var a, Var b, Where where = Where::current());
#include "cambrian/engine/graph/op_table.inl"
Var pow(Var a, double b, Where where = Where::current());
Var less(Var a, double b, Where where = Where::current());
Var less(double a, Var b, Where where = Where::current());
/// condition ? a : b, broadcasting all three. A value not chosen never reaches the result, NaN
/// included. Its gradient is 0, but a function before it that has an infinite slope there (sqrt or
/// log at 0) makes a NaN of that 0: choose the operand of such a function instead.
Var select(Var condition, Var a, Var b, Where where = Where::current());
/// real → integer truncates toward zero; anything → boolean is x != 0.
Var cast(Var x, ValueType type, Where where = Where::current());
/// A number of rank 0.
Var constant(Graph& graph, double value, ValueType type = ValueType::real);

Var square(Var x, Where where = Where::current());
/// The smallest integer not below x.
Var ceil(Var x, Where where = Where::current());
/// x limited to [low, high]. The gradient passes where low <= x <= high, the ends included. Throws
/// ShapeError for bounds that are NaN, in the wrong order or, beside integers, no 32-bit integers.
Var clamp(Var x, double low, double high, Where where = Where::current());

// Comparisons to booleans: with a NaN all but not_equal are false.
/// a <= b.
Var less_equal(Var a, Var b, Where where = Where::current());
/// a > b.
Var greater(Var a, Var b, Where where = Where::current());
/// a >= b.
Var greater_equal(Var a, Var b, Where where = Where::current());
Var not_equal(Var a, Var b, Where where = Where::current());
/// Of booleans: one of the two, not both.
Var logical_xor(Var a, Var b, Where where = Where::current());

// Storage formats.
/// The f32 value of every number of x [.., length] as a code of the format, nearest, ties to even:
/// integer [.., words], each row packed from the low bits of its words on and padded with zeros.
/// What lies beyond the largest of a format becomes the largest; infinities stay where it has them.
/// i8 limits to +-127. It has no gradient.
Var encode(Var x, NumberFormat format, Where where = Where::current());

/// The way back: words [.., words] to real [.., length].
Var decode(Var words, NumberFormat format, std::int64_t length, Where where = Where::current());

/// The numbers [.., length] of rows in codes of weights (graph/packed_rows.hpp).
/// @param parts words [.., packed_words()], then scales and zero points [.., scales_of_row()] where
/// the format has them. It has no gradient.
Var unpack(std::span<const Var> parts, const PackedAttribute& packed,
           Where where = Where::current());

}  // namespace cambrian
