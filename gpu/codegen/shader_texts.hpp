#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// What generated shaders are made of.
namespace cambrian::gpu {

/// The text of a file that shaders include, by the path that an #include names it by:
/// "cambrian/gpu/shaders/ops.glsl". Empty when there is none.
[[nodiscard]] std::string_view shader_text(std::string_view path);

/// The same with the texts of the files that it includes, each once. Contract: there is one.
[[nodiscard]] std::string whole_shader_text(std::string_view path);

/// What every generated shader starts with: the version, then prelude.glsl and the texts of all
/// elementwise functions and random numbers, their #include lines resolved, each file once.
[[nodiscard]] std::string shader_prefix();

/// Codes of data errors in a status word (shaders/status.glsl); 0 is none.
enum class DataError : std::uint32_t {
    none,
    gather_out_of_range,
    scatter_out_of_range,
    take_along_axis_out_of_range,
    scatter_add_along_axis_out_of_range,
    division_by_zero,
    loops_ended  ///< By a software device, see max_turns.
};

}  // namespace cambrian::gpu
