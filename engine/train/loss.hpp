#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <tuple>
#include <variant>

#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

// What training minimises: means over all elements, or classes, that count.
namespace cambrian {

/// mean (y − t)²
struct MeanSquaredError {
    static constexpr auto fields = FieldTable{};
    bool operator==(const MeanSquaredError&) const = default;
};
/// mean |y − t|
struct MeanAbsoluteError {
    static constexpr auto fields = FieldTable{};
    bool operator==(const MeanAbsoluteError&) const = default;
};
/// e²/2 up to |e| = delta, a line from there on (Huber, 1964).
struct HuberLoss {
    double delta = 1.0;

    static constexpr auto fields = FieldTable{
        Field{"delta", &HuberLoss::delta, representable, "Error from which it is a line."},
    };
    bool operator==(const HuberLoss&) const = default;
};
/// −log softmax(y)[t] of logits and class indices; targets of `ignore_index` do not count.
struct CrossEntropy {
    std::int64_t ignore_index = -100;

    static constexpr auto fields = FieldTable{
        Field{"ignore_index", &CrossEntropy::ignore_index, FieldRange{-2147483647.0, 2147483647.0},
              "Targets of this class do not count: the label as the data have it, of a text of "
              "characters a code point."},
    };
    bool operator==(const CrossEntropy&) const = default;
};
/// −t log p − (1 − t) log(1 − p) with p = sigmoid(y), targets from 0 to 1.
struct BinaryCrossEntropy {
    static constexpr auto fields = FieldTable{};
    bool operator==(const BinaryCrossEntropy&) const = default;
};

using Loss =
    std::variant<MeanSquaredError, MeanAbsoluteError, HuberLoss, CrossEntropy, BinaryCrossEntropy>;

/// "mse", "mae", "huber", "cross_entropy", "bce_with_logits".
[[nodiscard]] std::span<const std::string_view> loss_types();
[[nodiscard]] std::string_view name(const Loss& loss);
/// Whether targets are integer class indices [..] beside predictions [.., classes]; else they are
/// numbers of the shape of the predictions.
[[nodiscard]] bool wants_classes(const Loss& loss);
/// Whether a prediction is right or wrong: the share of right ones is the accuracy.
[[nodiscard]] bool has_accuracy(const Loss& loss);

/// A loss and what it is a mean of; real scalars.
struct LossTerms {
    Var mean;   ///< 0 when nothing counts.
    Var count;  ///< Elements, or classes, that count.
    Var right;  ///< Of these the predictions that are right; 0 without has_accuracy.
};
/// Throws ShapeError for targets of another shape or type.
[[nodiscard]] LossTerms measure(const Loss& loss, Var prediction, Var target);

/// Throws ConfigError for numbers as targets where the loss of predictions of 0 is more than
/// float32 holds, or (where they vary) so small that float32 cannot compare better ones.
void require_measurable(const Loss& loss, std::span<const double> targets);

/// {"type": "huber", "delta": 1}. Throws ConfigError naming `path`.
[[nodiscard]] Loss loss_from_json(const nlohmann::json& json, std::string_view path = "loss");
[[nodiscard]] nlohmann::ordered_json to_json(const Loss& loss);
/// What the schema of configs says of each type: "x-variants".
[[nodiscard]] nlohmann::ordered_json loss_schema();

}  // namespace cambrian
