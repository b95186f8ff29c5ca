#include "cambrian/evolve/tasks/environments/drawings.hpp"

#include <algorithm>
#include <cmath>

namespace cambrian::evolve {

using Ink = Picture::Ink;
using Point = Picture::Point;

Picture cart_picture(double position, double limit, const std::vector<DrawnPole>& poles,
                     double seconds, bool hangs) {
    constexpr double width = 0.5;
    constexpr double height = 0.25;
    double longest = 0.5;
    for (const DrawnPole& pole : poles) longest = std::max(longest, pole.length);
    const double side = std::max(limit + width, longest + width);
    Picture picture({-side, hangs ? -1.2 * longest : -1.5 * height}, {side, 1.2 * longest + height},
                    seconds);
    picture.line(Ink::faint, 0.03, {-limit, 0.0}, {limit, 0.0});
    for (const double end : {-limit, limit})
        picture.line(Ink::ground, 0.04, {end, -0.5 * height}, {end, 0.5 * height});
    picture.rectangle(Ink::body, {position, 0.0}, width, height);
    for (const DrawnPole& pole : poles)
        picture.line(
            Ink::limb, 0.07, {position, 0.0},
            {position + pole.length * std::sin(pole.angle), pole.length * std::cos(pole.angle)});
    return picture.circle(Ink::joint, {position, 0.0}, 0.05);
}

Picture valley_picture(double position, double goal) {
    constexpr double from = -1.2;
    constexpr double to = 0.6;
    constexpr double radius = 0.04;
    const auto height = [](double x) { return 0.45 * std::sin(3.0 * x) + 0.55; };
    std::vector<Point> ground;
    for (int i = 0; i <= 60; ++i) {
        const double x = from + (to - from) * i / 60.0;
        ground.push_back({x, height(x)});
    }
    Picture picture({from - 0.1, 0.0}, {to + 0.1, 1.25}, 0.03);
    picture.polyline(Ink::ground, 0.012, std::move(ground));
    const Point foot{goal, height(goal)};
    picture.line(Ink::ground, 0.008, foot, {foot.x, foot.y + 0.18});
    picture.polygon(
        Ink::goal,
        {{foot.x, foot.y + 0.18}, {foot.x + 0.09, foot.y + 0.145}, {foot.x, foot.y + 0.11}});
    // The car stands on the ground, at a right angle to its slope 1.35 cos(3x).
    const double slope = 1.35 * std::cos(3.0 * position);
    const double length = std::sqrt(1.0 + slope * slope);
    return picture.circle(Ink::body,
                          {position - radius * slope / length, height(position) + radius / length},
                          radius);
}

}  // namespace cambrian::evolve
