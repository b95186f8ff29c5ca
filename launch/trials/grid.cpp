#include "cambrian/launch/trials/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"

namespace cambrian::launch {
namespace {

/// Without spaces around it.
std::string trimmed(const std::string& value) {
    const std::size_t first = value.find_first_not_of(' ');
    if (first == std::string::npos) return "";
    return value.substr(first, value.find_last_not_of(' ') + 1 - first);
}

/// "a, b" → "a", "b"; commas within brackets, braces or quotes stay.
std::vector<std::string> values_of(const std::string& text) {
    std::vector<std::string> values(1);
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
        if (!quoted) depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        if (c == ',' && depth == 0 && !quoted)
            values.emplace_back();
        else
            values.back() += c;
    }
    for (std::string& value : values) value = trimmed(value);
    return values;
}

/// Bytes of the name of a file.
constexpr std::size_t longest_name = 255;

/// @param folder that the name would have.
std::string folder_with_hash(const std::string& folder, const std::string& name) {
    const std::string end = fmt::format("-{:016x}", hash64(std::as_bytes(std::span(name))));
    std::size_t kept = std::min(folder.size(), longest_name - end.size());
    // Not within a character.
    while (kept < folder.size() && (static_cast<unsigned char>(folder[kept]) & 0xC0) == 0x80)
        --kept;
    return folder.substr(0, kept) + end;
}

Dimension dimension_of(const std::string& text) {
    const std::size_t equals = text.find('=');
    const auto refuse = [&](const char* why) {
        throw ConfigError(
            fmt::format("--over is \"{}\" ({}) write it as key=value,value", shortened(text), why));
    };
    if (equals == std::string::npos || equals == 0) refuse("a key and its values are wanted");
    Dimension dimension{text.substr(0, equals), values_of(text.substr(equals + 1))};
    const std::set<std::string> different(dimension.values.begin(), dimension.values.end());
    if (different.contains("")) refuse("a value is empty");
    if (different.size() < dimension.values.size()) refuse("a value stands there twice");
    return dimension;
}

}  // namespace

std::vector<Dimension> dimensions_of(const std::vector<std::string>& texts) {
    std::vector<Dimension> dimensions;
    for (const std::string& text : texts) {
        dimensions.push_back(dimension_of(text));
        const auto same = std::ranges::count(dimensions, dimensions.back().key, &Dimension::key);
        if (same > 1)
            throw ConfigError(
                fmt::format("--over names {} twice (its values belong together) write them once",
                            dimensions.back().key));
    }
    return dimensions;
}

std::vector<Point> points_of(const std::vector<Dimension>& dimensions) {
    std::size_t count = 1;
    for (const Dimension& dimension : dimensions) {
        count *= dimension.values.size();
        if (count > max_points)
            throw ConfigError(
                fmt::format("--over has more than {} combinations (each has a folder of runs) give "
                            "fewer values",
                            max_points));
    }
    std::vector<Point> points{{}};
    for (const Dimension& dimension : dimensions) {
        std::vector<Point> longer;
        for (const Point& point : points)
            for (const std::string& value : dimension.values) {
                longer.push_back(point);
                longer.back().push_back(value);
            }
        points = std::move(longer);
    }
    return points;
}

std::string name_of(const std::vector<Dimension>& dimensions, const Point& point) {
    std::string name;
    for (std::size_t i = 0; i < point.size(); ++i)
        name += fmt::format("{}{}={}", i == 0 ? "" : ",", dimensions[i].key, point[i]);
    return name;
}

std::vector<std::string> folders_of(const std::vector<Dimension>& dimensions,
                                    const std::vector<Point>& points) {
    std::vector<std::string> folders;
    std::map<std::string, int> uses;
    for (const Point& point : points) {
        std::string folder = part_of_name(name_of(dimensions, point));
        ++uses[folder];
        folders.push_back(std::move(folder));
    }
    for (std::size_t i = 0; i < points.size(); ++i)
        if (folders[i].size() > longest_name || uses[folders[i]] > 1)
            folders[i] = folder_with_hash(folders[i], name_of(dimensions, points[i]));
    return folders;
}

}  // namespace cambrian::launch
