#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <string>

#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/tensor/shape.hpp"

namespace cambrian {

/// Tensors as a message shows them: "weight" [3, 4], "bias" [3] and 5 more; "nothing" for none.
template <class Compare>
[[nodiscard]] std::string listed_shapes(const std::map<std::string, Shape, Compare>& tensors) {
    constexpr std::size_t max_shown = 8;
    std::string text;
    std::size_t count = 0;
    for (const auto& [name, shape] : tensors)
        if (count++ < max_shown)
            text +=
                fmt::format("{}\"{}\" {}", count == 1 ? "" : ", ", shortened(name), shape.text());
    if (count > max_shown) text += fmt::format(" and {} more", count - max_shown);
    return text.empty() ? "nothing" : text;
}

}  // namespace cambrian
