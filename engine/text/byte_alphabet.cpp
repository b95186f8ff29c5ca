#include "cambrian/engine/text/byte_alphabet.hpp"

#include <array>

#include "cambrian/engine/text/unicode/unicode.hpp"

namespace cambrian::byte_alphabet {
namespace {

constexpr std::size_t byte_count = 256;

constexpr bool is_printable(std::size_t byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Tables {
    std::array<std::string, byte_count> texts;
    std::array<char32_t, byte_count> characters{};
    std::array<std::int16_t, 2 * byte_count> bytes{};  ///< By character; -1: none.

    Tables() {
        bytes.fill(-1);
        char32_t next = byte_count;
        for (std::size_t byte = 0; byte < byte_count; ++byte) {
            characters[byte] = is_printable(byte) ? static_cast<char32_t>(byte) : next++;
            unicode::append(texts[byte], characters[byte]);
            bytes[characters[byte]] = static_cast<std::int16_t>(byte);
        }
    }
};

const Tables& tables() {
    static const Tables result;
    return result;
}

}  // namespace

char32_t character_of(std::uint8_t byte) {
    return tables().characters[byte];
}

std::string_view text_of(std::uint8_t byte) {
    return tables().texts[byte];
}

std::string written(std::string_view bytes) {
    std::string result;
    result.reserve(bytes.size() + bytes.size() / 2);
    for (const char byte : bytes) result += text_of(static_cast<std::uint8_t>(byte));
    return result;
}

std::optional<std::string> read(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const unicode::Character character = unicode::character_at(text, at);
        if (character.code >= tables().bytes.size() || tables().bytes[character.code] < 0)
            return std::nullopt;
        result.push_back(static_cast<char>(tables().bytes[character.code]));
        at += character.length;
    }
    return result;
}

}  // namespace cambrian::byte_alphabet
