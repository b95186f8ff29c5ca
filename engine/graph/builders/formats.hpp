#pragma once

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Numbers in the formats they are stored in: computed in f32 and rounded once, when stored.
namespace cambrian {

/// The f32 value of every number of x [.., length] as a code of the format, nearest, ties to even:
/// integer [.., words], each row packed from the low bits of its words on and padded with zeros.
/// What lies beyond the largest of a format becomes the largest; infinities stay where it has them.
/// i8 limits to +-127. It has no gradient.
Var encode(Var x, NumberFormat format, Where where = Where::current());

/// The way back: words [.., words] to real [.., length].
Var decode(Var words, NumberFormat format, std::int64_t length, Where where = Where::current());

}  // namespace cambrian
