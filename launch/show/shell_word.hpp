#pragma once

#include <string>
#include <string_view>

namespace cambrian::launch {

/// A text as one word of a shell, for commands that are shown: in quotes where it needs them.
[[nodiscard]] inline std::string shell_word(std::string_view text) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
    if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos)
        return std::string(text);
    std::string word = "'";
    for (const char letter : text) word += letter == '\'' ? "'\\''" : std::string(1, letter);
    return word + "'";
}

}  // namespace cambrian::launch
