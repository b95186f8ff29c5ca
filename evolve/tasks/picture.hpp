#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cambrian::evolve {

/// A state of a world as somebody may see it, in the units of the world, y upwards. What is drawn
/// later lies above. Nothing of it reaches a result.
class Picture {
  public:
    struct Point {
        double x = 0.0;
        double y = 0.0;
    };
    /// What is drawn; whoever shows it chooses colours.
    enum class Ink : std::uint8_t { ground, body, limb, joint, goal, faint };
    enum class Kind : std::uint8_t { polyline, polygon, circle, text };
    /// One thing that is drawn.
    struct Mark {
        Kind kind = Kind::polyline;
        Ink ink = Ink::ground;
        std::vector<Point> points;  ///< Of a circle the centre, of a text the middle of its foot.
        double size = 0.0;          ///< Width of a line, radius, height of a text.
        std::string text{};
    };

    /// @param low lower left corner of what is seen, @param high the upper right one.
    /// @param seconds from this state to the next, as fast as one likes to see it.
    Picture(Point low, Point high, double seconds) : low_(low), high_(high), seconds_(seconds) {}

    Picture& line(Ink ink, double width, Point from, Point to) {
        return polyline(ink, width, {from, to});
    }
    Picture& polyline(Ink ink, double width, std::vector<Point> points) {
        return add({Kind::polyline, ink, std::move(points), width});
    }
    Picture& polygon(Ink ink, std::vector<Point> corners) {
        return add({Kind::polygon, ink, std::move(corners)});
    }
    Picture& rectangle(Ink ink, Point centre, double width, double height) {
        const double x = 0.5 * width;
        const double y = 0.5 * height;
        return polygon(ink, {{centre.x - x, centre.y - y},
                             {centre.x + x, centre.y - y},
                             {centre.x + x, centre.y + y},
                             {centre.x - x, centre.y + y}});
    }
    Picture& circle(Ink ink, Point centre, double radius) {
        return add({Kind::circle, ink, {centre}, radius});
    }
    Picture& text(Point foot, double height, std::string text) {
        return add({Kind::text, Ink::ground, {foot}, height, std::move(text)});
    }

    [[nodiscard]] Point low() const { return low_; }
    [[nodiscard]] Point high() const { return high_; }
    [[nodiscard]] double seconds() const { return seconds_; }
    [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }

  private:
    Picture& add(Mark mark) {
        marks_.push_back(std::move(mark));
        return *this;
    }

    Point low_;
    Point high_;
    double seconds_;
    std::vector<Mark> marks_;
};

/// An episode that can be seen.
struct DrawnEpisode {
    double score = 0.0;
    std::int64_t steps = 0;           ///< Of the whole episode, as it is drawn.
    std::int64_t number = 0;          ///< Which one it is, from 0,
    std::int64_t episodes = 1;        ///< of so many.
    std::vector<Picture> pictures{};  ///< Of the start and after each of its first steps.
    /// Of the steps and pictures, where these were computed apart from the score: in fast math
    /// families of programs round differently.
    std::optional<double> drawn_score{};
};

}  // namespace cambrian::evolve
