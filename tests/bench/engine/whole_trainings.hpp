#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cambrian/engine/train/trainer.hpp"

namespace cambrian {

/// A network that is trained for 20 epochs of 8 batches by plain descent on rows of uniform numbers
/// with targets of eight.
struct WholeTraining {
    std::string name;
    nlohmann::json layers;  ///< The section "network" of a config.
    std::int64_t batch = 0;
    std::int64_t features = 0;

    [[nodiscard]] Network network() const;
    [[nodiscard]] DataSet data() const;
    [[nodiscard]] TrainingSettings settings() const;
};

/// Perceptrons 128-512-512-8, deeper, and with a norm between; convolutions of one, two and three
/// dimensions: the trainings that other engines of this kind publish.
[[nodiscard]] std::vector<WholeTraining> whole_trainings();

}  // namespace cambrian
