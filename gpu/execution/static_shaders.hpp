#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cambrian::gpu {

/// A shader compiled with the build.
struct StaticShader {
    std::string_view name;  ///< Of the file in shaders/, without .comp.
    bool strict = false;    ///< Compiled with CAMBRIAN_STRICT.
    std::span<const std::uint32_t> code;
};

[[nodiscard]] std::span<const StaticShader> static_shaders();

}  // namespace cambrian::gpu
