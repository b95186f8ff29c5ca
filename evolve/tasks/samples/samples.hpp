#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/evolve/tasks/task.hpp"

// Tasks whose rows or sequences come from a formula. Each file makes samples; two tasks judge
// networks on them: by bits that are right or wrong, or by the error of a series.
namespace cambrian::evolve {

/// Samples of each part; a part without rows is none. Of sequences, inputs are [sequences, time,
/// features] and targets [sequences, scored, outputs], those of the last `scored` steps.
struct SampleParts {
    Samples train;
    Samples validation{};
    Samples test{};

    /// A champion is tested on the validation part, or, without one, on that of training.
    [[nodiscard]] const Samples& of(Phase phase) const;
};

/// A task of answers that are 0 or 1, [rows, outputs] or of sequences. An output is right above
/// 0.5 where 1 is wanted, else at most there; an answer where all its outputs are. Fitness = the
/// mean over answers of 1 - (target - output clamped to [0, 1])^2, times the rows of a task
/// without time, + `bonus` where all answers are right. Accuracy is the share of right answers; the
/// task is solved where that is 1.
[[nodiscard]] std::unique_ptr<Task> make_bits_task(std::string type, SampleParts parts,
                                                   double bonus = 0.0);

/// A part of a series: one sequence, and what persistence answers at its scored steps.
struct SeriesPart {
    Samples samples;              ///< [1, time, features], [1, scored, 1]
    std::vector<double> current;  ///< [scored], or none: no such baseline.
};

/// A task of one long sequence in each part (train, validation, test). Fitness = -NRMSE, the root
/// of the mean squared error by the variance of the targets of the part; baselines are NRMSE, too.
/// Throws ConfigError where all targets of a part are equal.
[[nodiscard]] std::unique_ptr<Task> make_series_task(std::string type,
                                                     std::vector<SeriesPart> parts);

inline constexpr std::string_view validation_meaning =
    "How the best individual is judged on sequences that training does not see.";

/// What settings of a series derive from: how much of it each part scores. Every part begins with a
/// washout of its own.
struct SeriesSettings {
    std::int64_t washout = 0;
    std::int64_t train_steps = 0;
    std::int64_t validation_steps = 0;
    std::int64_t test_steps = 0;
    ValidationSettings validation{};

    /// Steps of each part, one part after another; 0 where it scores none.
    [[nodiscard]] std::vector<std::int64_t> parts() const;
    [[nodiscard]] std::int64_t total() const;

    static constexpr FieldRange steps_or_none{0.0, 1e5};
    /// The table of the settings that derive from it.
    /// @param own rows that the series has beside these.
    template <class Settings, class... Own>
    [[nodiscard]] static constexpr auto series_fields(Own... own) {
        using Steps = Field<Settings, std::int64_t>;
        return FieldTable{
            own...,
            Steps{"washout", &SeriesSettings::washout, steps_or_none,
                  "Steps at the start of each part that are not scored, for networks with a "
                  "memory."},
            Steps{"train_steps", &SeriesSettings::train_steps, FieldRange{2.0, 1e5},
                  "Scored steps of training. The parts follow one another in one series."},
            Steps{"validation_steps", &SeriesSettings::validation_steps, steps_or_none,
                  "Of validation."},
            Steps{"test_steps", &SeriesSettings::test_steps, steps_or_none, "Of the end."},
            Field<Settings, ValidationSettings>{"validation", &SeriesSettings::validation,
                                                validation_meaning},
        };
    }
};

/// The task type that reads `Settings` and makes a task from them.
template <class Settings, class Make>
TaskKind sample_task(std::string name, std::string meaning, Make make) {
    const auto describe = [](nlohmann::ordered_json& schema) {
        field_json::describe_fields<Settings>(field_json::member(schema, "properties"));
    };
    const auto read = [make](const nlohmann::json& json, const TaskContext&) {
        static constexpr std::array<std::string_view, 1> others{"type"};
        Settings settings;
        field_json::read_fields(settings, json, "task", others);
        return make(settings);
    };
    return {std::move(name), std::move(meaning), read, describe};
}

enum class MackeyGlassMethod : std::uint8_t { rk4, rk4_held, euler };
inline constexpr std::array<std::string_view, 3> mackey_glass_method_names{"rk4", "rk4_held",
                                                                           "euler"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(MackeyGlassMethod) {
    return mackey_glass_method_names;
}

/// dx/dt = 0.2 x(t-17) / (1 + x(t-17)^10) - 0.1 x(t), sampled once a time unit.
/// @param history x at the steps before 0, oldest first: 17 · steps_per_unit of them.
/// @return x(0) = 1.2, x(1), .. of that many samples.
[[nodiscard]] std::vector<double> mackey_glass(MackeyGlassMethod method,
                                               std::int64_t steps_per_unit,
                                               std::span<const double> history,
                                               std::int64_t samples);

/// y[t+1] = 0.3 y[t] + 0.05 y[t] sum(y[t-9..t]) + 1.5 u[t-9] u[t] + 0.1 with y = 0 up to t = 9;
/// → y, one value more than u.
[[nodiscard]] std::vector<double> narma10(std::span<const double> inputs);

/// Sequences to remember: bits [sequences, items, width], 0 or 1.
struct BitStrings {
    std::int64_t sequences = 0;
    std::int64_t items = 0;
    std::int64_t width = 0;
    std::vector<double> bits;
};
/// Input item[t], target item[t - delay], scored from t = delay on.
[[nodiscard]] Samples delay_samples(const BitStrings& strings, std::int64_t delay);
/// The items, a delimiter in a channel of its own, as many blank steps: then the items are wanted.
[[nodiscard]] Samples copy_samples(const BitStrings& strings);
/// The items, as many blank steps whose last channel is 1: then the items are wanted.
[[nodiscard]] Samples recall_samples(const BitStrings& strings);

}  // namespace cambrian::evolve
