#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "cambrian/engine/core/json/field.hpp"

namespace cambrian {

/// How the matrices, kernels and tables of a layer start, those whose own rule is Initial::weight:
/// gains, biases and what has a pattern of its own stay as they are. With s = init_scale, g = √2
/// for activations that lose half of what comes in and 1 otherwise, n inputs and m outputs of an
/// output or an input (a kernel's places count):
///
///     default          as kaiming_uniform, where nothing is said
///     kaiming_uniform  uniform in ± s g √(3/n)          kaiming_normal  deviation s g / √n
///     xavier_uniform   uniform in ± s √(6/(n + m))      xavier_normal   deviation s √(2/(n + m))
///     orthogonal       s times a matrix [first axis, all others] whose shorter side is orthonormal
///     scaled           s times the default              normal          deviation s
///     zeros            0                                constant        s
///
/// He et al., 2015; Glorot and Bengio, 2010; Saxe et al., 2014.
enum class InitRule : std::uint8_t {
    standard,
    kaiming_uniform,
    kaiming_normal,
    xavier_uniform,
    xavier_normal,
    orthogonal,
    scaled,
    normal,
    zeros,
    constant,
};
inline constexpr std::array<std::string_view, 10> init_rule_names{
    "default",    "kaiming_uniform", "kaiming_normal", "xavier_uniform", "xavier_normal",
    "orthogonal", "scaled",          "normal",         "zeros",          "constant"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(InitRule) {
    return init_rule_names;
}

/// What any layer with weights may say of them, beside its own fields. A container says it for the
/// layers in it that do not.
struct ParameterRules {
    InitRule init = InitRule::standard;
    float init_scale = 1.0F;
    bool decay = true;

    static constexpr auto fields = FieldTable{
        Field{"init", &ParameterRules::init, "How weight matrices start."}.later(),
        Field{
            "init_scale", &ParameterRules::init_scale,
            FieldRange{-largest_setting, largest_setting},
            "Times what init gives; of constant the value, of normal the deviation. Without init: "
            "of the one around."}
            .later(),
        Field{"decay", &ParameterRules::decay,
              "false: weight decay leaves all parameters of the layer as they are."}
            .later(),
    };
    /// Whether nothing is said.
    [[nodiscard]] bool plain() const { return *this == ParameterRules{}; }
    /// These for something in what `around` is said of. An init is said with its scale, which is 1
    /// unless said, too; a scale alone is of the init around.
    [[nodiscard]] ParameterRules within(const ParameterRules& around) const {
        ParameterRules result = *this;
        result.decay = decay && around.decay;
        if (init != InitRule::standard) return result;
        result.init = around.init;
        if (init_scale == ParameterRules{}.init_scale) result.init_scale = around.init_scale;
        return result;
    }
    bool operator==(const ParameterRules&) const = default;
};

}  // namespace cambrian
