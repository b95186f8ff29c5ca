#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "cambrian/engine/text/unicode/tables.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"

// Normalization Form C: Unicode Standard, section 3.11, and section 3.12 for Hangul.
namespace cambrian::unicode {
namespace {

using tables::ClassRun;
using tables::Decomposition;

constexpr char32_t hangul_base = 0xAC00;
constexpr char32_t leading_base = 0x1100;
constexpr char32_t vowel_base = 0x1161;
constexpr char32_t trailing_base = 0x11A7;
constexpr char32_t leading_count = 19;
constexpr char32_t vowel_count = 21;
constexpr char32_t trailing_count = 28;
constexpr char32_t hangul_count = leading_count * vowel_count * trailing_count;

/// A decomposed character.
struct DecomposedPart {
    char32_t code = 0;
    std::uint8_t combining = 0;
};

std::uint8_t combining_class(char32_t code) {
    const auto after =
        std::ranges::upper_bound(tables::combining_runs(), code, {}, &ClassRun::from);
    return std::prev(after)->value;
}

void decompose(char32_t code, std::vector<DecomposedPart>& parts) {
    if (code - hangul_base < hangul_count) {
        const char32_t index = code - hangul_base;
        const char32_t trailing = index % trailing_count;
        parts.push_back({leading_base + index / (vowel_count * trailing_count), 0});
        parts.push_back({vowel_base + index / trailing_count % vowel_count, 0});
        if (trailing != 0) parts.push_back({trailing_base + trailing, 0});
        return;
    }
    const auto table = tables::decompositions();
    const auto found = std::ranges::lower_bound(table, code, {}, &Decomposition::code);
    if (found == table.end() || found->code != code) {
        parts.push_back({code, combining_class(code)});
        return;
    }
    decompose(found->first, parts);  // At most three levels.
    if (found->second != 0) decompose(found->second, parts);
}

/// The character that two compose to, or 0.
char32_t composition(char32_t first, char32_t second) {
    if (first - leading_base < leading_count && second - vowel_base < vowel_count)
        return hangul_base +
               ((first - leading_base) * vowel_count + second - vowel_base) * trailing_count;
    if (first - hangul_base < hangul_count && (first - hangul_base) % trailing_count == 0 &&
        second - trailing_base - 1 < trailing_count - 1)
        return first + second - trailing_base;
    const auto pair_of = [](std::uint16_t place) {
        const Decomposition& row = tables::decompositions()[place];
        return std::pair(row.first, row.second);
    };
    const auto pair = std::pair(first, second);
    const auto table = tables::compositions();
    const auto found = std::ranges::lower_bound(table, pair, {}, pair_of);
    if (found == table.end() || pair_of(*found) != pair) return 0;
    return tables::decompositions()[*found].code;
}

/// Marks that follow a character stand in the order of their classes, equal ones as they were.
void order(std::vector<DecomposedPart>& parts) {
    for (auto begin = parts.begin(); begin != parts.end();) {
        if (begin->combining == 0) {
            ++begin;
            continue;
        }
        const auto end = std::find_if(
            begin, parts.end(), [](const DecomposedPart& part) { return part.combining == 0; });
        std::stable_sort(begin, end, [](const DecomposedPart& a, const DecomposedPart& b) {
            return a.combining < b.combining;
        });
        begin = end;
    }
}

/// Joins each character with the last starter before it, unless another of its class or of a
/// higher one stands between them.
void compose(std::vector<DecomposedPart>& parts) {
    std::size_t kept = 0;
    std::ptrdiff_t starter = -1;
    for (const DecomposedPart& part : parts) {
        if (starter >= 0) {
            DecomposedPart& before = parts[static_cast<std::size_t>(starter)];
            const bool adjacent = kept == static_cast<std::size_t>(starter) + 1;
            const bool blocked = !adjacent && parts[kept - 1].combining >= part.combining;
            const char32_t joined = blocked ? 0 : composition(before.code, part.code);
            if (joined != 0) {
                before.code = joined;
                continue;
            }
        }
        if (part.combining == 0) starter = static_cast<std::ptrdiff_t>(kept);
        parts[kept++] = part;
    }
    parts.resize(kept);
}

/// Composes text of which only the first character may be ASCII.
void add_composed(std::string_view text, std::vector<DecomposedPart>& parts, std::string& result) {
    // Before U+0300 no character is a mark, or composes with what precedes it.
    constexpr unsigned char first_of_others = 0xCC;
    const bool others = std::ranges::any_of(
        text, [](char byte) { return static_cast<unsigned char>(byte) >= first_of_others; });
    if (!others) {
        result += text;
        return;
    }
    parts.clear();
    for (std::size_t at = 0; at < text.size();) {
        const Character character = character_at(text, at);
        decompose(character.code, parts);
        at += character.length;
    }
    order(parts);
    compose(parts);
    for (const DecomposedPart& part : parts) append(result, part.code);
}

}  // namespace

std::string composed(std::string_view text) {
    const auto is_ascii = [&](std::size_t at) {
        return static_cast<unsigned char>(text[at]) < 0x80;
    };
    std::string result;
    result.reserve(text.size());
    std::vector<DecomposedPart> parts;
    for (std::size_t begin = 0; begin < text.size();) {
        // ASCII composes with nothing before it, and only its last character with what follows.
        std::size_t end = begin;
        while (end < text.size() && is_ascii(end)) ++end;
        const std::size_t last = end == text.size() || end == begin ? end : end - 1;
        result += text.substr(begin, last - begin);
        while (end < text.size() && !is_ascii(end)) ++end;
        add_composed(text.substr(last, end - last), parts, result);
        begin = end;
    }
    return result;
}

}  // namespace cambrian::unicode
