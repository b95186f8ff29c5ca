#pragma once

/// Functions in f64 for what is computed once on the host and then stands in a graph (tables of
/// positions, constants of optimizers): additions, multiplications, divisions and bit operations
/// only, so that the bits are the same on every machine, which those of a library are not. Within
/// one unit in the last place (sin and cos for |x| <= 2^30; beyond it 2 pi is that of a double).
namespace cambrian::elementary_f64 {

/// ln x of a number that is not negative.
[[nodiscard]] double log(double x);
/// x^y of finite numbers, of which x is positive.
[[nodiscard]] double pow(double x, double y);
[[nodiscard]] double sin(double x);
[[nodiscard]] double cos(double x);

}  // namespace cambrian::elementary_f64
