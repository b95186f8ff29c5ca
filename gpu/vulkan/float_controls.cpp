#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/vulkan/pipeline.hpp"

// The words of SPIR-V: the SPIR-V specification, 2.3 and 3; SPV_KHR_float_controls.
namespace cambrian::vulkan {

namespace {

constexpr std::uint32_t magic = 0x07230203;
constexpr std::size_t header_words = 5;
constexpr std::uint32_t op_extension = 10;
constexpr std::uint32_t op_entry_point = 15;
constexpr std::uint32_t op_execution_mode = 16;
constexpr std::uint32_t op_capability = 17;
constexpr std::uint32_t float_bits = 32;

struct Mode {
    bool wanted = false;
    std::uint32_t capability = 0;
    std::uint32_t execution_mode = 0;
};

std::array<Mode, 3> modes_of(const FloatControls& controls) {
    return {Mode{controls.keep_subnormals, 4464, 4459},
            Mode{controls.keep_special_values, 4466, 4461},
            Mode{controls.round_to_nearest_even, 4467, 4462}};
}

std::uint32_t first_word(std::uint32_t operation, std::size_t words) {
    return static_cast<std::uint32_t>(words) << 16U | operation;
}

/// Where the two new parts go, and who they are for.
struct Outline {
    std::size_t after_capabilities = header_words;
    std::size_t after_entry_points = 0;
    std::vector<std::uint32_t> entry_points;
};

Outline outline(std::span<const std::uint32_t> code) {
    CAMBRIAN_ASSERT(code.size() > header_words && code.front() == magic);
    Outline result;
    for (std::size_t at = header_words; at < code.size();) {
        const std::uint32_t operation = code[at] & 0xFFFFU;
        const std::size_t words = code[at] >> 16U;
        CAMBRIAN_ASSERT(words > 0 && words <= code.size() - at);
        if (operation == op_capability) result.after_capabilities = at + words;
        if (operation == op_entry_point) {
            CAMBRIAN_ASSERT(words > 2);
            result.entry_points.push_back(code[at + 2]);
            result.after_entry_points = at + words;
        }
        at += words;
    }
    CAMBRIAN_ASSERT(result.after_entry_points >= result.after_capabilities);
    return result;
}

void append_extension(std::vector<std::uint32_t>& code, std::string_view name) {
    // Four characters to a word, ended by at least one zero byte.
    std::vector<std::uint32_t> text(name.size() / 4 + 1);
    for (std::size_t i = 0; i < name.size(); ++i)
        text[i / 4] |= static_cast<std::uint32_t>(name[i]) << (8 * (i % 4));
    code.push_back(first_word(op_extension, text.size() + 1));
    code.insert(code.end(), text.begin(), text.end());
}

}  // namespace

std::vector<std::uint32_t> with_float_controls(std::span<const std::uint32_t> code,
                                               const FloatControls& controls) {
    const Outline parts = outline(code);
    const std::array<Mode, 3> modes = modes_of(controls);
    if (std::none_of(modes.begin(), modes.end(), [](const Mode& mode) { return mode.wanted; }))
        return {code.begin(), code.end()};

    std::vector<std::uint32_t> result;
    const auto append = [&](std::size_t first, std::size_t last) {
        result.insert(result.end(), code.begin() + static_cast<std::ptrdiff_t>(first),
                      code.begin() + static_cast<std::ptrdiff_t>(last));
    };
    append(0, parts.after_capabilities);
    for (const Mode& mode : modes) {
        if (!mode.wanted) continue;
        result.push_back(first_word(op_capability, 2));
        result.push_back(mode.capability);
    }
    append_extension(result, "SPV_KHR_float_controls");
    append(parts.after_capabilities, parts.after_entry_points);
    for (const Mode& mode : modes) {
        for (std::uint32_t entry_point : parts.entry_points) {
            if (!mode.wanted) continue;
            result.push_back(first_word(op_execution_mode, 4));
            result.insert(result.end(), {entry_point, mode.execution_mode, float_bits});
        }
    }
    append(parts.after_entry_points, code.size());
    return result;
}

}  // namespace cambrian::vulkan
