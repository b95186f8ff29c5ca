#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
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

    static constexpr auto fields = std::tuple{
        Field{"patience", &EarlyStop::patience, FieldRange{0.0, 1e9}},
        Field{"least_change", &EarlyStop::min_change, not_negative},
    };
    bool operator==(const EarlyStop&) const = default;
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
    /// Names of parameters that weight decay leaves, beside those that say so themselves.
    std::vector<std::string> undecayed{};
    std::uint64_t seed = 1;
    /// Individual i starts from the weights of stream first_individual + i of the seed.
    std::uint64_t first_individual = 0;
    /// What every individual starts from instead, in the order of Network::weights(); empty: none.
    /// They are a candidate for the best weights, as those after an epoch.
    std::vector<float> initial_weights{};

    static constexpr auto fields = std::tuple{
        Field{"epochs", &TrainingSettings::epochs, FieldRange{1.0, 1e9}},
        Field{"batch", &TrainingSettings::batch, FieldRange{1.0, 1e9}},
        Field{"early_stop", &TrainingSettings::early_stop},
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

/// How one individual of a training gets on: whether it goes on, and what a plateau does to its
/// rate.
class TrainingProgress {
  public:
    TrainingProgress(const Schedule& schedule, const EarlyStop& stop)
        : plateau_(schedule), stop_(stop) {}

    /// After an epoch with this watched loss; whether it is the lowest so far. One that has stopped
    /// is not asked any more.
    bool report(double loss);
    /// Whether it learns on.
    [[nodiscard]] bool active() const { return active_; }
    /// The lowest watched loss; infinite before there is one.
    [[nodiscard]] double best() const { return best_; }
    [[nodiscard]] float factor() const { return plateau_.factor(); }

    void save(ArchiveWriter& to) const;
    /// Throws InputError.
    void restore(ArchiveReader& from);

  private:
    Plateau plateau_;
    EarlyStop stop_;
    double best_ = std::numeric_limits<double>::infinity();
    double counted_ = best_;  ///< The last loss that was lower by the least change.
    std::int64_t waited_ = 0;
    bool active_ = true;
};

}  // namespace cambrian
