#pragma once

#include <cstddef>
#include <string_view>

#include "cambrian/engine/core/json/json_text.hpp"

namespace cambrian {

/// What a text that holds a network may be, be it a config or what a file has beside its weights:
/// for readers and for writers. Memory follows the values, 100 bytes and more each; a connection of
/// `neurons` is five of them.
inline constexpr json_text::Limits network_text_limits{.length = std::size_t{128} << 20U,
                                                       .values = std::size_t{1} << 22U};

/// Throws ConfigError where no reader would take a text that is about to be written.
/// @param what "net.json"
void check_network_text(std::string_view text, std::string_view what);

}  // namespace cambrian
