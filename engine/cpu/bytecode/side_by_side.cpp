#include <algorithm>
#include <cstring>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/cpu/bytecode/rows.hpp"
#include "cambrian/engine/cpu/lanes/transposed_kernels.hpp"
#include "cambrian/engine/cpu/lanes/transposed_nodes.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"

namespace cambrian::cpu {

namespace {

// Fewer networks of one structure take less time one after another.
constexpr std::int64_t min_networks = 4;
// Words of weights side by side, which stay in the second-level cache.
constexpr std::int64_t crowd_weights = std::int64_t{64} * 1024;

constexpr std::int64_t whole_lines(std::int64_t words) {
    constexpr std::int64_t line = 16;
    return (words + line - 1) / line * line;
}

const BytecodeInstruction* instructions(const std::int32_t* bytecode) {
    return reinterpret_cast<const BytecodeInstruction*>(bytecode);
}

/// Where the weights of a bytecode lie among all.
struct WeightPlaces {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

WeightPlaces weights_of(const std::int32_t* bytecode) {
    const auto* instruction = instructions(bytecode);
    while (instruction->op != BytecodeOp::end) instruction = next(instruction);
    return {.first = instruction->weights, .count = instruction->detail};
}

/// Whether bytecodes differ in nothing but where their weights begin.
bool equal_structure(const std::int32_t* a, const std::int32_t* b) {
    const auto* left = instructions(a);
    const auto* right = instructions(b);
    const std::int64_t distance = std::int64_t{right->weights} - left->weights;
    for (;; left = next(left), right = next(right)) {
        BytecodeInstruction moved = *left;
        moved.weights = right->weights;
        const auto table_bytes =
            static_cast<std::size_t>(bytecode_length(*left) - bytecode_instruction_words) *
            sizeof(std::int32_t);
        if (std::memcmp(&moved, right, sizeof(moved)) != 0 ||
            std::int64_t{right->weights} - left->weights != distance ||
            std::memcmp(left + 1, right + 1, table_bytes) != 0)
            return false;
        if (left->op == BytecodeOp::end) return true;
    }
}

/// Networks that run together.
struct Crowd {
    std::int32_t first = 0;     ///< Column.
    std::int32_t networks = 0;  ///< Below min_networks: one after another.
    std::int32_t weights = 0;   ///< Where theirs lie side by side.
    std::int32_t first_weight = 0;
};
constexpr std::int64_t crowd_words = sizeof(Crowd) / sizeof(Word);

/// Networks as bytecode in a transposed body: neighbours of one structure side by side, any others
/// one after another.
class SideBySideKernel : public ArrangedKernel {
  public:
    explicit SideBySideKernel(const TransposedNode& node)
        : bytecode_{node.operands[0]->front().slot},
          weights_{node.operands[1]->front().slot},
          rows_(*node.operands[2]),
          state_(*node.operands[3]),
          outputs_(node.results[0].front()),
          new_state_(node.results[1].front()) {
        bytecode_.stride = node.input_strides[bytecode_.slot - first_input_slot];
        weights_.stride = node.input_strides[weights_.slot - first_input_slot];
        run_ =
            bytecode_run(std::get<InterpretAttribute>(node.node.attributes), node.operand(0).shape,
                         node.operand(1).shape, node.operand(2).shape, node.operand(3).shape);
        count_ = static_cast<std::int64_t>(rows_.size()) / run_.inputs;
    }

    [[nodiscard]] std::int64_t words(std::int64_t count) const override {
        return memory_at(count) + 3 * pass_memory() + one_network_words();
    }

    [[nodiscard]] std::int64_t fitting(const Frame& frame, std::int64_t count) const override {
        const auto* bytecode = frame.at<std::int32_t>(bytecode_);
        std::int64_t used = 0;
        for (std::int64_t i = 0; i < count; ++i, bytecode += bytecode_.stride) {
            const BytecodeInstruction* const end = fitting_end(bytecode, run_);
            CAMBRIAN_EXPECT(end != nullptr);
            used += end->detail;
            if (used > crowd_weights) return std::max<std::int64_t>(1, i);
        }
        return count;
    }

    void arrange(Frame& frame, std::int64_t count) const override {
        Crowd* crowd = crowds(frame);
        std::int64_t used = 0;
        for (std::int64_t column = 0; column < columns(frame); ++crowd) {
            const std::int64_t networks = equal_neighbours(frame, column);
            const WeightPlaces range = weights_of(bytecode_of(frame, column));
            const std::int64_t words = whole_lines(range.count * max_lanes);
            const bool together = networks >= min_networks && used + words <= crowd_weights;
            *crowd = {.first = static_cast<std::int32_t>(column),
                      .networks = together ? static_cast<std::int32_t>(networks) : 1,
                      .weights = static_cast<std::int32_t>(used),
                      .first_weight = static_cast<std::int32_t>(range.first)};
            if (together) {
                lay_weights(frame, *crowd, range, side_by_side(frame, count) + used);
                used += words;
            }
            column += crowd->networks;
        }
    }

    void run(Frame& frame, std::int64_t count) const override {
        copy_state(frame, count);
        const float** const inputs = look_up(frame, count);
        const Crowd* crowd = crowds(frame);
        for (std::int64_t column = 0; column < columns(frame); column += crowd++->networks) {
            if (crowd->networks < min_networks)
                run_one(frame, count, inputs, column);
            else
                run_crowd(frame, count, inputs, *crowd);
        }
        repeat_last(frame, outputs_, count_ * run_.outputs, count);
        repeat_last(frame, new_state_, count_ * run_.capacity.state, count);
    }

  private:
    [[nodiscard]] static std::int64_t columns(const Frame& frame) {
        return static_cast<std::int64_t>(frame.individuals.size());
    }
    [[nodiscard]] static std::int64_t individual(const Frame& frame, std::int64_t column) {
        return frame.individuals[static_cast<std::size_t>(column)];
    }
    [[nodiscard]] const std::int32_t* bytecode_of(const Frame& frame, std::int64_t column) const {
        return frame.at<std::int32_t>(bytecode_) + individual(frame, column) * bytecode_.stride;
    }
    [[nodiscard]] const float* weights_of_network(const Frame& frame, std::int64_t column) const {
        return frame.at<float>(weights_) + individual(frame, column) * weights_.stride;
    }

    // The scratch memory: where the rows' numbers are, the crowds, their weights side by side, the
    // working memory of a pass, and the rows, outputs and states of one network.
    [[nodiscard]] std::int64_t crowds_at() const {
        constexpr std::int64_t pointer_words = sizeof(const float*) / sizeof(Word);
        return whole_lines(static_cast<std::int64_t>(rows_.size()) * pointer_words);
    }
    [[nodiscard]] std::int64_t weights_at(std::int64_t count) const {
        return crowds_at() + whole_lines(crowd_words * count);
    }
    [[nodiscard]] std::int64_t memory_at(std::int64_t count) const {
        return weights_at(count) + crowd_weights;
    }
    [[nodiscard]] std::int64_t pass_memory() const {
        return run_.capacity.memory * max_lanes * max_rows_side_by_side;
    }
    [[nodiscard]] std::int64_t one_network_words() const {
        return count_ * (run_.inputs + run_.outputs + run_.capacity.state);
    }
    [[nodiscard]] static float* scratch(const Frame& frame) {
        return reinterpret_cast<float*>(frame.slots[scratch_slot]);
    }
    [[nodiscard]] Crowd* crowds(const Frame& frame) const {
        return reinterpret_cast<Crowd*>(scratch(frame) + crowds_at());
    }
    [[nodiscard]] float* side_by_side(const Frame& frame, std::int64_t count) const {
        return scratch(frame) + weights_at(count);
    }

    /// Networks from a column on that have its structure.
    [[nodiscard]] std::int64_t equal_neighbours(const Frame& frame, std::int64_t column) const {
        const std::int32_t* const first = bytecode_of(frame, column);
        std::int64_t networks = 1;
        while (networks < std::min(max_lanes, columns(frame) - column) &&
               equal_structure(first, bytecode_of(frame, column + networks)))
            ++networks;
        return networks;
    }

    /// Lanes without a network have the weights of the last one.
    void lay_weights(const Frame& frame, const Crowd& crowd, const WeightPlaces& range,
                     float* to) const {
        const float* from[max_lanes];
        for (std::int64_t lane = 0; lane < max_lanes; ++lane) {
            const std::int64_t column =
                crowd.first + std::min<std::int64_t>(lane, crowd.networks - 1);
            const std::int64_t distance = instructions(bytecode_of(frame, column))->weights -
                                          instructions(bytecode_of(frame, crowd.first))->weights;
            from[lane] = weights_of_network(frame, column) + range.first + distance;
        }
        for (std::int64_t i = 0; i < range.count; ++i)
            for (const auto* const lane : from) *to++ = lane[i];
    }

    void copy_state(const Frame& frame, std::int64_t count) const {
        Word* to = row_of(frame, new_state_, count);
        for (const ElementRow& row : state_) {
            const Word* const from = row_of(frame, row, count);
            if (row.shared)
                std::fill_n(to, count, *from);
            else
                std::copy_n(from, count, to);
            to += count;
        }
    }

    /// Where the numbers of every row's elements are.
    const float** look_up(const Frame& frame, std::int64_t count) const {
        auto* const inputs = reinterpret_cast<const float**>(scratch(frame));
        for (std::size_t i = 0; i < rows_.size(); ++i)
            inputs[i] = reinterpret_cast<const float*>(row_of(frame, rows_[i], count));
        return inputs;
    }

    [[nodiscard]] BytecodeRun run_of(const Frame& frame, std::int64_t count,
                                     std::int64_t column) const {
        BytecodeRun run = run_;
        run.bytecode = bytecode_of(frame, column);
        run.memory = scratch(frame) + memory_at(count);
        run.staging = run.memory + pass_memory();
        return run;
    }
    [[nodiscard]] static float* numbers(const Frame& frame, const ElementRow& row,
                                        std::int64_t count) {
        return reinterpret_cast<float*>(row_of(frame, row, count));
    }

    void run_crowd(const Frame& frame, std::int64_t count, const float* const* inputs,
                   const Crowd& crowd) const {
        BytecodeRun run = run_of(frame, count, crowd.first);
        run.weights = side_by_side(frame, count) + crowd.weights;
        run.first_weight = crowd.first_weight;
        run_bytecode_side_by_side(
            run, crowd.networks, count_,
            {.inputs = inputs,
             .column = crowd.first,
             .outputs = numbers(frame, outputs_, count) + crowd.first,
             .stride = count,
             .state = {.first = numbers(frame, new_state_, count) + crowd.first,
                       .stride = count,
                       .words = run_.capacity.state}});
    }

    /// A network alone, whose rows are put together and taken apart again.
    void run_one(const Frame& frame, std::int64_t count, const float* const* inputs,
                 std::int64_t column) const {
        BytecodeRun run = run_of(frame, count, column);
        run.weights = weights_of_network(frame, column);
        float* const rows = run.staging + 2 * pass_memory();
        float* const outputs = rows + count_ * run_.inputs;
        float* const state = outputs + count_ * run_.outputs;
        float* const state_columns = numbers(frame, new_state_, count) + column;
        float* const output_columns = numbers(frame, outputs_, count) + column;
        for (std::int64_t i = 0; i < count_ * run_.inputs; ++i) rows[i] = inputs[i][column];
        for (std::int64_t i = 0; i < count_ * run_.capacity.state; ++i)
            state[i] = state_columns[i * count];
        run_bytecode(run, rows, count_, outputs, state);
        for (std::int64_t i = 0; i < count_ * run_.outputs; ++i)
            output_columns[i * count] = outputs[i];
        for (std::int64_t i = 0; i < count_ * run_.capacity.state; ++i)
            state_columns[i * count] = state[i];
    }

    /// Columns after the last network are copies of its own.
    static void repeat_last(const Frame& frame, const ElementRow& first, std::int64_t elements,
                            std::int64_t count) {
        Word* row = row_of(frame, first, count);
        for (std::int64_t e = 0; e < elements; ++e, row += count)
            std::fill(row + columns(frame), row + count, row[columns(frame) - 1]);
    }

    BufferView bytecode_, weights_;
    ElementRows rows_;  ///< Of the networks' inputs.
    ElementRows state_;
    ElementRow outputs_, new_state_;  ///< The first of rows that follow each other.
    BytecodeRun run_;
    std::int64_t count_ = 0;  ///< Rows of a network.
};

}  // namespace

std::unique_ptr<Kernel> make_transposed_interpret(const TransposedNode& node) {
    const std::int64_t weights = std::get<InterpretAttribute>(node.node.attributes).weights;
    if (weights * max_lanes > crowd_weights ||
        std::ranges::any_of(*node.operands[2], &ElementRow::shared))
        return nullptr;
    return std::make_unique<SideBySideKernel>(node);
}

}  // namespace cambrian::cpu
