#include <algorithm>

#include "cambrian/engine/cpu/bytecode/rows.hpp"
#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"

namespace cambrian::cpu {

namespace {

/// One individual after another, each with its own tape; the dead ones of a rollout are left out.
class InterpretStep : public Step {
  public:
    explicit InterpretStep(const Site& site)
        : tape_(site.operands[0]),
          weights_(site.operands[1]),
          rows_(site.operands[2]),
          state_(site.operands[3]),
          outputs_(site.results[0]),
          new_state_(site.results[1]),
          per_individual_(site.per_individual) {
        const auto& interpret = site.attribute<InterpretAttribute>();
        const Shape& rows = site.operand(2).shape;
        run_.inputs = rows[-1];
        run_.outputs = interpret.outputs;
        run_.capacity = {.words = site.operand(0).shape[0],
                         .weights = site.operand(1).shape[0],
                         .state = site.operand(3).shape[-1],
                         .memory = interpret.memory};
        count_ = rows.elements() / rows[-1];
        const std::int64_t words = interpret.memory * most_lanes;
        memory_ = site.owner.scratch(3 * words);
        staging_ = memory_;
        staging_.offset += words;
    }

    void run(Frame& frame, std::int64_t count) const override {
        TapeRun run = run_;
        run.memory = frame.at<float>(memory_);
        run.staging = frame.at<float>(staging_);
        const std::int64_t state_words = count_ * run_.capacity.state;
        for (std::int64_t i = 0; i < count; ++i) {
            float* const outputs = frame.at<float>(outputs_) + i * outputs_.stride;
            float* const state = frame.at<float>(new_state_) + i * new_state_.stride;
            std::copy_n(frame.at<float>(state_) + i * state_.stride, state_words, state);
            // What all individuals share is needed by those that are alive.
            if (per_individual_ && !frame.is_alive(i)) {
                std::fill_n(outputs, count_ * run_.outputs, 0.0F);
                continue;
            }
            run.tape = frame.at<std::int32_t>(tape_) + i * tape_.stride;
            run.weights = frame.at<float>(weights_) + i * weights_.stride;
            run_tape(run, frame.at<float>(rows_) + i * rows_.stride, count_, outputs, state);
        }
    }

  private:
    Ref tape_, weights_, rows_, state_, outputs_, new_state_, memory_, staging_;
    bool per_individual_;
    TapeRun run_;
    std::int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Step> make_interpret(const Site& site) {
    return std::make_unique<InterpretStep>(site);
}

}  // namespace cambrian::cpu
