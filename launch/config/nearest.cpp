#include "cambrian/launch/config/nearest.hpp"

#include <vector>

#include "cambrian/engine/core/message_text.hpp"

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

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
    return folded(a) == folded(b);
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
    std::vector<std::string> words;
    for (const std::string& candidate : candidates) words.push_back(folded(candidate));
    const std::vector<std::string_view> views(words.begin(), words.end());
    const auto found = nearest_name(folded(word), views);
    if (!found) return std::nullopt;
    for (std::size_t i = 0; i < views.size(); ++i)
        if (views[i].data() == found->data()) return candidates[i];
    return std::nullopt;
}

}  // namespace cambrian::launch
