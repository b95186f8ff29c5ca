#include "cambrian/engine/core/shortened.hpp"

#include <cstdint>

namespace cambrian {

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

bool is_control(char byte) {
    return static_cast<unsigned char>(byte) < ' ' || byte == '\x7f';
}

}  // namespace

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
        if (length == 0 || is_control(text.front()))
            result += '?';
        else
            result += text.substr(0, length);
        text.remove_prefix(step);
    }
    return result;
}

}  // namespace cambrian
