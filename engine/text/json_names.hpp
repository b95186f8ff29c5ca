#pragma once

#include <array>
#include <string_view>

// Names that tokenizer.json has for values of enums, in their order.
namespace cambrian::json_names {

inline constexpr std::array<std::string_view, 5> split_behaviors{
    "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
inline constexpr std::array<std::string_view, 3> prepend_schemes{"first", "never", "always"};

}  // namespace cambrian::json_names
