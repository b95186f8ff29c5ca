#include "cambrian/engine/text/unicode/unicode.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "cambrian/engine/text/unicode/tables.hpp"

namespace cambrian::unicode {
namespace {

using tables::ClassRun;

constexpr std::size_t ascii = 128;

Classes find(char32_t code) {
    const auto after = std::ranges::upper_bound(tables::class_runs(), code, {}, &ClassRun::from);
    return std::prev(after)->value;
}

std::array<Classes, ascii> ascii_classes() {
    std::array<Classes, ascii> result{};
    for (std::size_t i = 0; i < ascii; ++i) result[i] = find(static_cast<char32_t>(i));
    return result;
}

/// What the first byte of a character says: how many bytes it has (0: it begins none), and the
/// values that the second one may have.
struct Lead {
    std::size_t length = 0;
    unsigned char least = 0x80;
    unsigned char most = 0xBF;
};

Lead lead_of(unsigned char byte) {
    if (byte < 0x80) return {.length = 1};
    if (byte >= 0xC2 && byte <= 0xDF) return {.length = 2};
    if (byte >= 0xE0 && byte <= 0xEF) {
        if (byte == 0xE0) return {.length = 3, .least = 0xA0};
        if (byte == 0xED) return {.length = 3, .most = 0x9F};
        return {.length = 3};
    }
    if (byte >= 0xF0 && byte <= 0xF4) {
        if (byte == 0xF0) return {.length = 4, .least = 0x90};
        if (byte == 0xF4) return {.length = 4, .most = 0x8F};
        return {.length = 4};
    }
    return {};
}

/// The longest beginning of a character at a byte, and whether it is a whole one.
struct Piece {
    std::size_t length = 1;
    bool whole = false;
};

Piece piece_at(std::string_view bytes, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
    const Lead lead = lead_of(byte(0));
    if (lead.length <= 1) return {.length = 1, .whole = lead.length == 1};
    std::size_t length = 1;
    while (length < lead.length && at + length < bytes.size()) {
        const unsigned char least = length == 1 ? lead.least : 0x80;
        const unsigned char most = length == 1 ? lead.most : 0xBF;
        if (byte(length) < least || byte(length) > most) break;
        ++length;
    }
    return {.length = length, .whole = length == lead.length};
}

}  // namespace

Classes classes(char32_t code) {
    static const std::array<Classes, ascii> of_ascii = ascii_classes();
    return code < ascii ? of_ascii[code] : find(code);
}

Character character_at(std::string_view text, std::size_t at) {
    if (at >= text.size()) return {};
    const auto byte = [&](std::size_t i) {
        return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
    };
    const char32_t first = byte(0);
    if (first < 0x80) return {first, 1};
    if (first < 0xE0) return {(first & 0x1FU) << 6U | (byte(1) & 0x3FU), 2};
    if (first < 0xF0)
        return {(first & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU), 3};
    return {(first & 0x07U) << 18U | (byte(1) & 0x3FU) << 12U | (byte(2) & 0x3FU) << 6U |
                (byte(3) & 0x3FU),
            4};
}

Character character_before(std::string_view text, std::size_t at) {
    if (at == 0) return {};
    std::size_t begin = at - 1;
    while ((static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
    return character_at(text, begin);
}

void append(std::string& text, char32_t code) {
    const auto add = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
        add(code);
    } else if (code < 0x800) {
        add(0xC0U | code >> 6U);
        add(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
        add(0xE0U | code >> 12U);
        add(0x80U | (code >> 6U & 0x3FU));
        add(0x80U | (code & 0x3FU));
    } else {
        add(0xF0U | code >> 18U);
        add(0x80U | (code >> 12U & 0x3FU));
        add(0x80U | (code >> 6U & 0x3FU));
        add(0x80U | (code & 0x3FU));
    }
}

std::set<char32_t> characters_of(std::string_view text) {
    std::set<char32_t> found;
    for (std::size_t at = 0; at < text.size();) {
        const Character character = character_at(text, at);
        found.insert(character.code);
        at += character.length;
    }
    return found;
}

std::size_t valid_length(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
        const Piece piece = piece_at(bytes, at);
        if (!piece.whole) return at;
        at += piece.length;
    }
    return at;
}

std::size_t unfinished_length(std::string_view bytes) {
    constexpr std::size_t longest = 3;
    for (std::size_t back = 1; back <= std::min(longest, bytes.size()); ++back) {
        const std::size_t at = bytes.size() - back;
        if ((static_cast<unsigned char>(bytes[at]) & 0xC0U) == 0x80U) continue;
        const Piece piece = piece_at(bytes, at);
        const bool begun = lead_of(static_cast<unsigned char>(bytes[at])).length > 1;
        return begun && !piece.whole && piece.length == back ? back : 0;
    }
    return 0;
}

std::string repaired(std::string bytes) {
    std::size_t at = valid_length(bytes);
    if (at == bytes.size()) return bytes;
    std::string result = bytes.substr(0, at);
    while (at < bytes.size()) {
        const Piece piece = piece_at(bytes, at);
        result += piece.whole ? std::string_view(bytes).substr(at, piece.length)
                              : std::string_view("\xEF\xBF\xBD");
        at += piece.length;
    }
    return result;
}

}  // namespace cambrian::unicode
