#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cambrian/engine/train/loss.hpp"
#include "cambrian/engine/train/optimizer.hpp"
#include "cambrian/engine/train/schedule.hpp"
#include "cambrian/engine/train/training_progress.hpp"

namespace cambrian {

struct TrainingSettings {
    std::int64_t epochs = 10;
    std::int64_t batch = 32;  ///< Rows of a step; the last one of an epoch takes what is left.
    Loss loss = MeanSquaredError{};
    Optimizer optimizer = Adam{};
    Schedule schedule{};
    std::vector<double> learning_rates{1e-3};  ///< One for each individual: they are so many.
    std::optional<double> clip_norm{};         ///< Of all gradients of an individual together.
    EarlyStop early_stop{};
    std::uint64_t seed = 1;
    /// Individual i starts from the weights of stream first_individual + i of the seed.
    std::uint64_t first_individual = 0;
    /// What every individual starts from instead, in the order of Network::weights(); empty: none.
    /// They are a candidate for the best weights, as those after an epoch.
    std::vector<float> initial_weights{};
};
/// Throws ConfigError, naming keys of a config below "training".
void check(const TrainingSettings& settings);

}  // namespace cambrian
