#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/train/optimizer.hpp"
#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// What becomes of what an individual has learned. baldwinian: it decides its fitness, and its
/// children inherit what it was born with (Hinton and Nowlan, 1987). lamarckian: they inherit what
/// it has learned.
enum class LearningMode : std::uint8_t { off, baldwinian, lamarckian };
inline constexpr std::array<std::string_view, 3> learning_mode_names{"off", "baldwinian",
                                                                     "lamarckian"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(LearningMode) {
    return learning_mode_names;
}

/// Steps of gradient descent that an individual takes before it is evaluated. `fields` are keys of
/// the section "learning".
struct LearningSettings {
    LearningMode mode = LearningMode::off;
    std::int64_t steps = 10;
    std::int64_t batch = 32;
    double learning_rate = 1e-3;
    Optimizer optimizer = Adam{};
    std::optional<double> clip_norm{};

    [[nodiscard]] bool on() const { return mode != LearningMode::off; }
    static constexpr auto fields = FieldTable{
        Field{
            "mode", &LearningSettings::mode,
            "off. baldwinian: fitness is that after learning, children inherit what their "
            "parents were born with. lamarckian: children inherit what they have learned. Networks "
            "compute as they do in inference: nothing is dropped, no noise is drawn, and "
            "batch_norm has the statistics that it was born with."},
        Field{"steps", &LearningSettings::steps, FieldRange{1.0, 1e6},
              "Steps of the gradient that an individual takes."},
        Field{"batch", &LearningSettings::batch, FieldRange{1.0, 1e9},
              "Rows of a step, drawn anew for each step and generation, the same for all; all rows "
              "where there are no more."},
        Field{"learning_rate", &LearningSettings::learning_rate, representable,
              "Length of a step, whose moments begin at zero."},
    };
};

/// Throws ConfigError where the task has nothing to learn from by gradient.
void check_learning(const LearningSettings& settings, const Task& task);

/// Teaches individuals by gradient what their task's training data says: those of one structure in
/// one program. What becomes of one depends on its weights, the round and the settings alone.
/// Buffers of a network, such as running means, stay as they are, and so do weights whose gradient
/// is not finite. One caller at a time.
class Learner {
  public:
    /// All must outlive it.
    Learner(Backend& backend, const Task& task, std::uint64_t seed,
            const LearningSettings& settings);
    ~Learner();
    Learner(const Learner&) = delete;
    Learner& operator=(const Learner&) = delete;

    /// The weights of each after its steps, in the order of the individuals, whose weights are on
    /// the host. Where memory runs out they learn in halves, which changes none of them; throws
    /// OutOfMemoryError where there is no memory for one of them.
    /// @param round whose batches: the generation.
    [[nodiscard]] std::vector<std::vector<float>> learn(
        std::span<const Individual* const> individuals, std::uint64_t round);
    /// Times that some waited for others, or learned in halves, since they filled the memory.
    [[nodiscard]] std::uint64_t memory_splits() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cambrian::evolve
