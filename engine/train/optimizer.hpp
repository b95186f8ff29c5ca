#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

// Optimizers as graphs: one step of one parameter tensor of one individual. With g the gradient, p
// the parameter, t the step counted from 1 and r the learning rate.
namespace cambrian {

inline constexpr std::string_view weight_decay_meaning =
    "Share of a weight that pulls it toward zero: of matrices and kernels, not of gains, biases "
    "and what cambrian layers lists as without decay.";

/// g' = g + weight_decay p; m' = momentum m + g'; p' = p − r m', or with nesterov
/// p − r (g' + momentum m'). Without momentum p' = p − r g'.
struct Sgd {
    double momentum = 0.0;
    bool nesterov = false;
    double weight_decay = 0.0;

    static constexpr auto fields = FieldTable{
        Field{"momentum", &Sgd::momentum, below_one, "Share of the last direction that stays."},
        Field{"nesterov", &Sgd::nesterov, "Whether the step looks ahead along the momentum."},
        Field{"weight_decay", &Sgd::weight_decay, not_negative, weight_decay_meaning},
    };
    bool operator==(const Sgd&) const = default;
};

/// m' = β₁ m + (1 − β₁) g; v' = β₂ v + (1 − β₂) g²;
/// p' = p − r m' / (1 − β₁ᵗ) / (√(v' / (1 − β₂ᵗ)) + ε)   (Kingma and Ba, 2015).
/// Weight decay is added to the gradient, or, decoupled (AdamW: Loshchilov and Hutter, 2019), takes
/// r weight_decay p off the parameter.
struct Adam {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0.0;
    bool decoupled = false;

    static constexpr auto fields = FieldTable{
        Field{"beta1", &Adam::beta1, below_one, "Memory of the mean."},
        Field{"beta2", &Adam::beta2, below_one, "Memory of the mean square."},
        Field{"epsilon", &Adam::epsilon, representable, "Added outside the root."},
        Field{"weight_decay", &Adam::weight_decay, not_negative, weight_decay_meaning},
    };
    bool operator==(const Adam&) const = default;
};

/// v' = α v + (1 − α) g²; p' = p − r g / (√v' + ε), after g is given the weight decay.
struct RmsProp {
    double alpha = 0.99;
    double epsilon = 1e-8;
    double weight_decay = 0.0;

    static constexpr auto fields = FieldTable{
        Field{"alpha", &RmsProp::alpha, below_one, "Memory of the mean square."},
        Field{"epsilon", &RmsProp::epsilon, representable, "Added outside the root."},
        Field{"weight_decay", &RmsProp::weight_decay, not_negative, weight_decay_meaning},
    };
    bool operator==(const RmsProp&) const = default;
};

using Optimizer = std::variant<Sgd, Adam, RmsProp>;

/// "sgd", "adam", "adamw" (Adam with decoupled weight decay, 0.01 unless set), "rmsprop".
[[nodiscard]] std::span<const std::string_view> optimizer_types();
[[nodiscard]] std::string_view name(const Optimizer& optimizer);
/// {"type": "sgd", "momentum": 0.9}. Throws ConfigError naming `path`.
[[nodiscard]] Optimizer optimizer_from_json(const nlohmann::json& json,
                                            std::string_view path = "optimizer");
[[nodiscard]] nlohmann::ordered_json to_json(const Optimizer& optimizer);
/// What the schema of configs says of each type: "x-variants".
[[nodiscard]] nlohmann::ordered_json optimizer_schema();

/// Tensors of a parameter's shape, zeros at first, that an optimizer remembers for it.
[[nodiscard]] std::size_t moment_count(const Optimizer& optimizer);

/// What a step knows beside its tensors: real scalars, shared or one for each individual.
struct StepScalars {
    Var learning_rate;
    Var step;  ///< Counted from 1.
};

struct UpdatedParameter {
    Var value;
    std::vector<Var> moments;
};

/// One step. Gradient and moments have the shape of the value.
/// @param decays real, of that shape: the share of the weight decay that each element takes, 1 or
/// 0; without it all elements take it.
[[nodiscard]] UpdatedParameter update(const Optimizer& optimizer, const StepScalars& scalars,
                                      Var value, Var gradient, std::span<const Var> moments,
                                      std::optional<Var> decays = std::nullopt);
/// One that is taken where `takes` says so: else all stays as it was before.
[[nodiscard]] UpdatedParameter select(Var takes, const UpdatedParameter& next,
                                      const UpdatedParameter& before);
/// What its config says, whatever the kind.
[[nodiscard]] double weight_decay(const Optimizer& optimizer);

struct ClippedGradients {
    std::vector<Var> gradients;
    Var norm;    ///< Of all gradients together, before clipping; rank 0.
    Var finite;  ///< Whether the norm is finite; boolean, rank 0.
};

/// Largest norms up to the largest number of float32, which clips nothing.
inline constexpr FieldRange largest_norms{representable.min, 3.4e38};

/// Scales all gradients of an individual by min(1, largest_norm / (norm + 1e-6)); without a largest
/// norm they stay as they are. Squares are added up as by `sum_all`: in one chain of f32 a long sum
/// stops growing.
[[nodiscard]] ClippedGradients clip_norm(std::span<const Var> gradients,
                                         std::optional<double> largest_norm);

}  // namespace cambrian
