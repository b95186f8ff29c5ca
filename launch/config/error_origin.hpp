#pragma once

#include <fmt/format.h>

#include <string_view>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/config/schema_validator.hpp"

namespace cambrian::launch {

/// The key that an error of a part begins with, else the section of the part.
inline std::string_view key_of(std::string_view text, std::string_view section) {
    const std::string_view first = text.substr(0, text.find_first_of(" :"));
    return first.starts_with(section) ? first : section;
}

/// Repeats an error of a part with the place in the config it comes from.
template <class Body>
auto from(const Origins& origins, const char* section, const Body& body) {
    try {
        return body();
    } catch (const ConfigError& error) {
        throw ConfigError(
            fmt::format("{}: {}", origins.of(key_of(error.what(), section)), error.what()));
    } catch (const ShapeError& error) {
        throw ShapeError(fmt::format("{}: {}", origins.of(section), error.what()));
    }
}

}  // namespace cambrian::launch
