#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "cambrian/evolve/tasks/environment.hpp"

// What environments of several kinds are written with. States are columns, real [episodes, 1].
namespace cambrian::evolve {

/// Column i of a matrix [episodes, n].
[[nodiscard]] Var column(Var matrix, std::int64_t i);
/// A column as a vector [episodes].
[[nodiscard]] Var per_episode(Var column);
/// The same number for every episode, [episodes].
[[nodiscard]] Var every_episode(Var column, double value);
/// False for every episode: none ends before its last step.
[[nodiscard]] Var never(Var column);
/// Index of the first largest output as a real column.
[[nodiscard]] Var first_largest(Var output);
/// Whether |x| > limit.
[[nodiscard]] Var outside(Var x, double limit);
/// Two columns of uniforms in [0, 1) to two of standard normals (Box and Muller).
[[nodiscard]] std::array<Var, 2> normals(Var first, Var second);

/// One step of the classic Runge-Kutta method of fourth order for y' = derivative(y).
template <std::size_t n, class Derivative>
std::array<Var, n> runge_kutta(const std::array<Var, n>& y, double step,
                               const Derivative& derivative) {
    const auto moved = [&](const std::array<Var, n>& slope, double by) {
        std::array<Var, n> result{};
        for (std::size_t i = 0; i < n; ++i) result[i] = y[i] + slope[i] * by;
        return result;
    };
    const std::array<Var, n> first = derivative(y);
    const std::array<Var, n> second = derivative(moved(first, step / 2.0));
    const std::array<Var, n> third = derivative(moved(second, step / 2.0));
    const std::array<Var, n> fourth = derivative(moved(third, step));
    std::array<Var, n> result{};
    for (std::size_t i = 0; i < n; ++i)
        result[i] = y[i] + (first[i] + fourth[i] + (second[i] + third[i]) * 2.0) * (step / 6.0);
    return result;
}

}  // namespace cambrian::evolve
