#pragma once

#include <vector>

#include "cambrian/evolve/tasks/picture.hpp"

// What several environments draw alike.
namespace cambrian::evolve {

/// A pole on a cart.
struct DrawnPole {
    double angle = 0.0;  ///< From the upright, to the right, in radians.
    double length = 1.0;
};
/// A cart on a track that ends at -limit and limit, with poles.
/// @param seconds from one state to the next.
/// @param hangs whether poles may hang, so that the track is in the middle of the picture.
[[nodiscard]] Picture cart_picture(double position, double limit,
                                   const std::vector<DrawnPole>& poles, double seconds, bool hangs);

/// The car in the valley sin(3x), with the flag at its goal.
[[nodiscard]] Picture valley_picture(double position, double goal);

}  // namespace cambrian::evolve
