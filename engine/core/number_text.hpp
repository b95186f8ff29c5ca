#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace cambrian {

/// The number that a text is, as a whole; nothing for any other text.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace cambrian
