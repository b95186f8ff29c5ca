#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/train/loss.hpp"
#include "cambrian/engine/train/optimizer.hpp"
#include "cambrian/engine/train/schedule.hpp"

namespace cambrian {

class ArchiveReader;
class ArchiveWriter;
class Network;

struct EarlyStop {
    std::int64_t patience = 0;  ///< Epochs without a better loss before the end; 0: never.
    double min_change = 0.0;    ///< By which a loss must be lower to be better.

    static constexpr auto fields = FieldTable{
        Field{"patience", &EarlyStop::patience, FieldRange{0.0, 1e9}},
        Field{"least_change", &EarlyStop::min_change, not_negative},
    };
    bool operator==(const EarlyStop&) const = default;
};

/// What weights learn from.
enum class TrainingMethod : std::uint8_t {
    gradient,            ///< The gradient of the loss through all slots (backpropagation).
    target_propagation,  ///< Each slot its own target, found by the chain rule.
    difference_target_propagation,  ///< The same, found by learned inverses (Lee et al. 2015).
};
inline constexpr std::array<std::string_view, 3> training_method_names{
    "gradient", "target_propagation", "difference_target_propagation"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(TrainingMethod) {
    return training_method_names;
}
[[nodiscard]] constexpr std::string_view name(TrainingMethod method) {
    return training_method_names[static_cast<std::size_t>(method)];
}

/// How slots get targets; without a meaning for the method gradient.
struct TargetSettings {
    double step = 0.1;
    double inverse_learning_rate = 1e-3;
    double inverse_noise = 0.3;
    Activation inverse_activation = Activation::identity;

    static constexpr auto fields = FieldTable{
        Field{"step", &TargetSettings::step, representable,
              "How far a target lies from what is given: so many gradients of a row's loss."},
        Field{"inverse_learning_rate", &TargetSettings::inverse_learning_rate, not_negative,
              "Rate of the learned inverses, which follows the schedule and the optimizer of "
              "training; 0: they stay random."},
        Field{"inverse_noise", &TargetSettings::inverse_noise, not_negative,
              "Standard deviation of what is added to the values that an inverse learns to give "
              "back."},
        Field{"inverse_activation", &TargetSettings::inverse_activation,
              "Function of what inverses give back: that of the layers they invert (tanh in Lee "
              "et al.), or linear, which reaches any value."},
    };
    bool operator==(const TargetSettings&) const = default;
};

struct TrainingSettings {
    std::int64_t epochs = 100;
    std::int64_t batch = 32;  ///< Rows of a step; the last one of an epoch takes what is left.
    Loss loss = MeanSquaredError{};
    Optimizer optimizer = Adam{};
    Schedule schedule{};
    std::vector<double> learning_rates{1e-3};  ///< One for each individual: they are so many.
    std::optional<double> clip_norm{};         ///< Of all gradients of an individual together.
    EarlyStop early_stop{};
    TrainingMethod method = TrainingMethod::gradient;
    TargetSettings targets{};
    std::vector<std::string> frozen{};  ///< Parts whose weights stay, see frozen_ranges().
    /// Names of parameters that weight decay leaves, beside those that say so themselves.
    std::vector<std::string> undecayed{};
    std::uint64_t seed = 1;
    /// Individual i starts from the weights of stream first_individual + i of the seed.
    std::uint64_t first_individual = 0;
    /// What every individual starts from instead, in the order of Network::weights(); empty: none.
    /// They are a candidate for the best weights, as those after an epoch.
    std::vector<float> initial_weights{};

    static constexpr auto fields = FieldTable{
        Field{"epochs", &TrainingSettings::epochs, FieldRange{1.0, 1e9}},
        Field{"batch", &TrainingSettings::batch, FieldRange{1.0, 1e9}},
        Field{"early_stop", &TrainingSettings::early_stop},
        Field{"method", &TrainingSettings::method},
        Field{"targets", &TrainingSettings::targets},
        Field{"frozen", &TrainingSettings::frozen},
        Field{"undecayed", &TrainingSettings::undecayed},
    };
};
/// Whether a pattern names a parameter: its whole name (Network::weight_name), or a part of it that
/// follows a point and ends with it; * stands for any text. "weight" is each layer's, "slot.0.*"
/// are all of a layer, "head.weight" is one.
[[nodiscard]] bool names_parameter(std::string_view pattern, std::string_view name);
/// Of each range of Network::weights(): whether weight decay pulls at it. ConfigError where a
/// pattern names nothing.
[[nodiscard]] std::vector<bool> decaying_ranges(const Network& network,
                                                std::span<const std::string> undecayed);
/// Throws ConfigError, naming keys of a config below "training".
void check(const TrainingSettings& settings);

class Network;
/// Which of Network::weights() `frozen` names: by "slot.2", "head", "link.0" all of a part, by
/// "slot.2.bias" a tensor (or all below it in a container), by "hidden" all but the head and the
/// links to it. Throws ConfigError for a name that nothing has, and where nothing would be left to
/// learn.
[[nodiscard]] std::vector<bool> frozen_ranges(const Network& network,
                                              std::span<const std::string> frozen);

/// How one individual of a training gets on: whether it goes on, and what a plateau does to its
/// rate.
class TrainingProgress {
  public:
    TrainingProgress(const Schedule& schedule, const EarlyStop& stop)
        : plateau_(schedule), stop_(stop) {}

    /// After an epoch (from 1; 0: before the first) with this watched loss; whether it is the
    /// lowest so far. One that has stopped is not asked any more.
    bool report(std::int64_t epoch, double loss);
    /// Whether it learns on.
    [[nodiscard]] bool active() const { return active_; }
    /// The lowest watched loss; infinite before there is one.
    [[nodiscard]] double best() const { return best_; }
    /// The epoch that left it, 0 for the start; nothing where a file of before does not say.
    [[nodiscard]] std::optional<std::int64_t> best_epoch() const { return best_epoch_; }
    [[nodiscard]] float factor() const { return plateau_.factor(); }

    /// All but the epoch of the best.
    void save(ArchiveWriter& to) const;
    /// Throws InputError, like the next but one. The epoch of the best is not known then.
    void restore(ArchiveReader& from);
    void save_best_epoch(ArchiveWriter& to) const;
    void restore_best_epoch(ArchiveReader& from, std::int64_t epochs_done);

  private:
    Plateau plateau_;
    EarlyStop stop_;
    double best_ = std::numeric_limits<double>::infinity();
    std::optional<std::int64_t> best_epoch_ = 0;
    double counted_ = best_;  ///< The last loss that was lower by the least change.
    std::int64_t waited_ = 0;
    bool active_ = true;
};

}  // namespace cambrian
