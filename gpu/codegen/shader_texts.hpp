#pragma once

#include <string_view>

namespace cambrian::gpu {

/// The text of a file of shaders/*.glsl, or elementary.inl, by its name; empty when there is none.
[[nodiscard]] std::string_view shader_text(std::string_view name);

}  // namespace cambrian::gpu
