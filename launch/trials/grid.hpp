#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cambrian::launch {

/// A key of a config and the values that it takes in a sweep.
struct Dimension {
    std::string key;
    std::vector<std::string> values;
};
/// Of texts "key=value,value"; commas within brackets, braces or quotes divide nothing. Throws
/// ConfigError for a key twice, and for an empty value or one that stands there twice.
[[nodiscard]] std::vector<Dimension> dimensions_of(const std::vector<std::string>& texts);

/// One value of each key.
using Point = std::vector<std::string>;
inline constexpr std::size_t max_points = 100'000;
/// All combinations; the values of the last key follow each other. Throws ConfigError for more than
/// max_points.
[[nodiscard]] std::vector<Point> points_of(const std::vector<Dimension>& dimensions);
/// "population.size=64,mutation.weight_power=0.5"
[[nodiscard]] std::string name_of(const std::vector<Dimension>& dimensions, const Point& point);
/// A folder for each point, all different: its name, with '-' for each slash (none is in a name of
/// a file) and brace (it would be a key). A name that is too long for a file, or that others have
/// too, ends with a hash of the whole name. cambrian_read.py knows this rule, too.
[[nodiscard]] std::vector<std::string> folders_of(const std::vector<Dimension>& dimensions,
                                                  const std::vector<Point>& points);

}  // namespace cambrian::launch
