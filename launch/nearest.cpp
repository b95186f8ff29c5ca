#include "cambrian/launch/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cambrian::launch {
namespace {

std::string folded(std::string_view word) {
    std::string result;
    for (const char c : word) {
        if (c == '_' || c == '-') continue;
        result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return result;
}

std::size_t edits(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = a[i - 1] == b[j - 1] ? 0 : 1;
            cost[i][j] =
                std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + replace});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[a.size()][b.size()];
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
    return folded(a) == folded(b);
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
    // Long inputs cannot be a slip of the pen, and the table of costs grows with their square.
    if (word.size() > 200) return std::nullopt;
    const std::string wanted = folded(word);
    std::optional<std::string> best;
    std::size_t best_edits = 0;
    for (const std::string& candidate : candidates) {
        const std::string other = folded(candidate);
        const std::size_t distance = edits(wanted, other);
        const std::size_t allowed =
            std::max<std::size_t>(1, std::max(wanted.size(), other.size()) / 3);
        if (distance > allowed || (best && distance >= best_edits)) continue;
        best = candidate;
        best_edits = distance;
    }
    return best;
}

}  // namespace cambrian::launch
