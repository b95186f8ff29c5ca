#include "cambrian/engine/core/message_text.hpp"

#include <algorithm>
#include <cstdint>
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
    return nearest ? "did you mean \"" + shortened(*nearest) + "\"?" : "use one of these";
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

namespace {

/// Bytes of the character at the start of a text that is not empty; 0 where there is none.
std::size_t character_length(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first < 0xC2   ? 0U
                               : first < 0xE0 ? 2U
                               : first < 0xF0 ? 3U
                               : first < 0xF5 ? 4U
                                              : 0U;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xC0U) != 0x80U) return 0;
    // Longer than needed, a half of a surrogate pair, or beyond the last character.
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
    if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
    return length;
}

/// Those of ASCII, and U+0080 to U+009F: terminals obey both.
bool is_control(std::string_view character) {
    const auto byte = [character](std::size_t i) {
        return static_cast<std::uint8_t>(character[i]);
    };
    if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
    return character.size() == 1 && (byte(0) < 0x20 || byte(0) == 0x7F);
}

}  // namespace

bool is_plain_name(std::string_view text) {
    constexpr std::size_t longest_name = 60;
    return !text.empty() && text.size() <= longest_name &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") ==
               std::string_view::npos;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string shortened(std::string_view text, std::size_t longest) {
    std::string result;
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const std::size_t step = length == 0 ? 1 : length;
        if (result.size() + step > longest) return result + "...";
        const std::string_view character = text.substr(0, length);
        if (length == 0 || is_control(character))
            result += '?';
        else
            result += character;
        text.remove_prefix(step);
    }
    return result;
}

}  // namespace cambrian
