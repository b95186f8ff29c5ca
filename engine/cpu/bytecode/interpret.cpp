#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/cpu/bytecode/rows.hpp"
#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"

namespace cambrian::cpu {

namespace {

/// Words of wide_rows rows beyond which they leave the cache between two uses.
constexpr std::int64_t wide_memory = 256;
/// Of rows that all networks have in common, for which a copy in another order is worth its memory.
constexpr std::int64_t shared_words = std::int64_t{1} << 20;

/// One individual after another, each with its own bytecode; the dead ones of a rollout are left
/// out.
class InterpretKernel : public Kernel {
  public:
    explicit InterpretKernel(const KernelContext& context)
        : bytecode_(context.operands[0]),
          weights_(context.operands[1]),
          rows_(context.operands[2]),
          state_(context.operands[3]),
          outputs_(context.results[0]),
          new_state_(context.results[1]),
          per_individual_(context.per_individual) {
        const auto& interpret = context.attribute<InterpretAttribute>();
        const Shape& rows = context.operand(2).shape;
        run_ = bytecode_run(interpret, context.operand(0).shape, context.operand(1).shape, rows,
                            context.operand(3).shape);
        count_ = rows.elements() / rows[-1];
        run_.rows = count_ >= wide_rows && interpret.memory <= wide_memory ? wide_rows : max_lanes;
        const std::int64_t words = interpret.memory * run_.rows;
        shares_words_ =
            run_.rows >= wide_rows && rows_.stride == 0 && rows.elements() <= shared_words;
        memory_ = context.owner.scratch(3 * words + (shares_words_ ? rows.elements() : 0));
        staging_ = words_ = memory_;
        staging_.offset += words;
        words_.offset += 3 * words;
    }

    void run(Frame& frame, std::int64_t count) const override {
        BytecodeRun run = run_;
        run.memory = frame.at<float>(memory_);
        run.staging = frame.at<float>(staging_);
        if (shares_words_ && count > 1) {
            auto* const words = frame.at<float>(words_);
            write_words(frame.at<float>(rows_), count_, run_.inputs, words);
            run.words = words;
        }
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
            run.bytecode = frame.at<std::int32_t>(bytecode_) + i * bytecode_.stride;
            CAMBRIAN_EXPECT(fitting_end(run.bytecode, run) != nullptr);
            run.weights = frame.at<float>(weights_) + i * weights_.stride;
            run_bytecode(run, frame.at<float>(rows_) + i * rows_.stride, count_, outputs, state);
        }
    }

  private:
    BufferView bytecode_, weights_, rows_, state_, outputs_, new_state_, memory_, staging_, words_;
    bool per_individual_;
    bool shares_words_ = false;
    BytecodeRun run_;
    std::int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_interpret(const KernelContext& context) {
    return std::make_unique<InterpretKernel>(context);
}

}  // namespace cambrian::cpu
