#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cambrian/engine/tensor/tensor.hpp"
#include "cambrian/evolve/genome/preparation.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// What the outputs of a network mean beside the targets of its task.
enum class OutputMeaning : std::uint8_t {
    numbers,       ///< Values, scaled.
    probability,   ///< sigmoid(output) is a number from 0 to 1.
    class_scores,  ///< softmax(outputs) are the probabilities of the classes.
    class_score,   ///< sigmoid(output) is the probability of the second of two classes.
    bit,           ///< The output, limited to 0 to 1, is that; above 0.5 it is answered.
};

/// Rows of a part of the data as networks read them, and what should be answered.
struct LabelledRows {
    Tensor inputs;  ///< [rows, features], or [sequences, steps, features].
    /// Of sequences: the last so many steps are answers, the others are none; 0: all steps.
    std::int64_t scored_steps = 0;
    OutputMeaning meaning = OutputMeaning::numbers;
    /// By answer, sequence after sequence: numbers [answers, outputs] as outputs · scale + shift
    /// gives them but for `current`, or class indices [answers].
    std::vector<double> targets;
    std::vector<std::uint8_t> counted;  ///< [answers]; empty: all of them.
    std::vector<Scaling> outputs;       ///< Of numbers and probabilities, one for each output.
    /// Of numbers, [answers, outputs]: what is added to answer and target, for they are changes of
    /// it; empty: nothing.
    std::vector<double> current;
    std::vector<double> labels;  ///< Of classes.
    std::vector<std::string>
        label_names{};  ///< Where they are texts; the numbers are indices then.
};

/// What a task is, too, whose networks answer rows of data.
class LabelledTask {
  public:
    virtual ~LabelledTask();
    /// Every row of a phase, whatever an evaluation draws of them; null where it has none.
    [[nodiscard]] virtual std::shared_ptr<const LabelledRows> labelled_rows(Phase phase) const = 0;
};

/// Of any task; null where its networks answer no rows of data.
[[nodiscard]] std::shared_ptr<const LabelledRows> labelled_rows(const Task& task, Phase phase);

}  // namespace cambrian::evolve
