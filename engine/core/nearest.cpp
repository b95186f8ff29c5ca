#include "cambrian/engine/core/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace cambrian {

namespace {

/// Damerau-Levenshtein distance in which no part of a name is edited twice.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> current(b.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            current[j] = std::min({above[j] + 1, current[j - 1] + 1, replaced});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
        }
        std::swap(before, above);
        std::swap(above, current);
    }
    return above[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string_view> candidates) {
    constexpr std::size_t longest = 256;  // the distance takes the product of both lengths
    constexpr std::size_t max_work = std::size_t{1} << 27U;  // of hundreds of thousands of names
    if (name.empty() || name.size() > longest) return std::nullopt;
    std::optional<std::string_view> nearest;
    std::size_t least = 0;
    std::size_t work = 0;
    for (const std::string_view candidate : candidates) {
        if (candidate.size() > longest) continue;
        const std::size_t longer = std::max(name.size(), candidate.size());
        const std::size_t shorter = std::min(name.size(), candidate.size());
        const std::size_t allowed = std::max<std::size_t>(1, longer / 3);
        if (longer - shorter > allowed) continue;  // The distance is no less than that.
        work += name.size() * candidate.size();
        if (work > max_work) break;
        const std::size_t distance = edit_distance(name, candidate);
        if (distance <= allowed && (!nearest || distance < least)) {
            nearest = candidate;
            least = distance;
        }
    }
    return nearest;
}

std::string nearest_hint(std::string_view name, std::span<const std::string_view> candidates) {
    const auto nearest = nearest_name(name, candidates);
    return nearest ? "did you mean \"" + std::string(*nearest) + "\"?" : "use one of these";
}

std::string nearest_hint(std::string_view name, std::span<const std::string> candidates) {
    const std::vector<std::string_view> views(candidates.begin(), candidates.end());
    return nearest_hint(name, views);
}

std::string joined(std::span<const std::string_view> names) {
    std::string text;
    for (const std::string_view name : names) {
        if (!text.empty()) text += ", ";
        text += name;
    }
    return text;
}

std::string joined(std::span<const std::string> names) {
    const std::vector<std::string_view> views(names.begin(), names.end());
    return joined(views);
}

}  // namespace cambrian
