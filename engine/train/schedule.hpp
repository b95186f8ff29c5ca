#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <variant>

#include "cambrian/engine/core/json/field.hpp"

// How the learning rate changes: a factor of the rate that is set, by the share of the training
// that is done, or by what the loss does.
namespace cambrian {

class ArchiveReader;
class ArchiveWriter;

/// 1.
struct ConstantRate {
    static constexpr auto fields = FieldTable{};
    bool operator==(const ConstantRate&) const = default;
};
/// From 1 to end_factor in a line.
struct LinearRate {
    double end_factor = 0.0;

    static constexpr auto fields = FieldTable{
        Field{"end_factor", &LinearRate::end_factor, not_negative,
              "Factor of the rate at the end."},
    };
    bool operator==(const LinearRate&) const = default;
};
/// From 1 to end_factor along half a cosine (Loshchilov and Hutter, 2017).
struct CosineRate {
    double end_factor = 0.0;

    static constexpr auto fields = FieldTable{
        Field{"end_factor", &CosineRate::end_factor, not_negative,
              "Factor of the rate at the end."},
    };
    bool operator==(const CosineRate&) const = default;
};
/// Times `factor` after every `epochs`.
struct StepRate {
    double epochs = 10.0;
    double factor = 0.1;

    static constexpr auto fields = FieldTable{
        Field{"epochs", &StepRate::epochs, FieldRange{0.001, 1e9}, "Epochs of a step."},
        Field{"factor", &StepRate::factor, from_zero_to_one, "Factor of each step."},
    };
    bool operator==(const StepRate&) const = default;
};
/// From start_factor to 1 in the first `rise` of the training, then to end_factor, each along half
/// a cosine (Smith and Topin, 2019).
struct OneCycleRate {
    double rise = 0.3;
    double start_factor = 0.04;
    double end_factor = 1e-5;

    static constexpr auto fields = FieldTable{
        Field{"rise", &OneCycleRate::rise, FieldRange{0.0, 1.0, true, true},
              "Share of the training in which the rate rises."},
        Field{"start_factor", &OneCycleRate::start_factor, not_negative,
              "Factor of the rate at the start."},
        Field{"end_factor", &OneCycleRate::end_factor, not_negative,
              "Factor of the rate at the end."},
    };
    bool operator==(const OneCycleRate&) const = default;
};
/// Times `factor` when the loss has not fallen by the share `threshold` of it for more than
/// `patience` epochs.
struct PlateauRate {
    std::int64_t patience = 5;
    double factor = 0.1;
    double threshold = 1e-4;
    double min_factor = 0.0;

    static constexpr auto fields = FieldTable{
        Field{"patience", &PlateauRate::patience, FieldRange{0.0, 1e9},
              "Epochs without progress that are waited for."},
        Field{"factor", &PlateauRate::factor, from_zero_to_one, "Factor of each step."},
        Field{"threshold", &PlateauRate::threshold, below_one, "Share by which a loss must fall."},
        Field{"least_factor", &PlateauRate::min_factor, from_zero_to_one,
              "Factor below which the rate does not fall."},
    };
    bool operator==(const PlateauRate&) const = default;
};

using RateRule =
    std::variant<ConstantRate, LinearRate, CosineRate, StepRate, OneCycleRate, PlateauRate>;

struct Schedule {
    RateRule rule;
    double warm_up = 0.0;  ///< Epochs in which the rate rises from 0 in a line; the rule follows.

    static constexpr auto fields = FieldTable{
        Field{"warm_up", &Schedule::warm_up, FieldRange{0.0, 1e9},
              "First epochs, in which the rate rises from 0 in a line; the rule follows."},
    };
    bool operator==(const Schedule&) const = default;
};

/// "constant", "linear", "cosine", "step", "one_cycle", "plateau".
[[nodiscard]] std::span<const std::string_view> schedule_types();
[[nodiscard]] std::string_view name(const Schedule& schedule);

/// The factor when `done` epochs of `total` are done; what a plateau does comes on top (Plateau).
/// Throws ConfigError unless the warm-up is shorter than the training.
[[nodiscard]] float rate_factor(const Schedule& schedule, double done, double total);

/// The factor of a plateau schedule, of one individual; 1 for other schedules.
class Plateau {
  public:
    explicit Plateau(const Schedule& schedule);
    /// After an epoch with this loss.
    void report(double loss);
    [[nodiscard]] float factor() const { return static_cast<float>(factor_); }
    void save(ArchiveWriter& to) const;
    /// Throws InputError.
    void restore(ArchiveReader& from);

  private:
    const PlateauRate* rule() const { return std::get_if<PlateauRate>(&rule_); }

    RateRule rule_;
    double factor_ = 1.0;
    double best_;
    std::int64_t waited_ = 0;
};

/// {"type": "cosine", "warm_up": 2, "end_factor": 0.01}. Throws ConfigError naming `path`.
[[nodiscard]] Schedule schedule_from_json(const nlohmann::json& json,
                                          std::string_view path = "schedule");
[[nodiscard]] nlohmann::ordered_json to_json(const Schedule& schedule);
/// What the schema of configs says of each type: "x-variants".
[[nodiscard]] nlohmann::ordered_json schedule_schema();

}  // namespace cambrian
