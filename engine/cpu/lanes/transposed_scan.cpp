#include "cambrian/engine/cpu/lanes/transposed_scan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/lanes/transposed_graph.hpp"
#include "cambrian/engine/cpu/lanes/transposed_kernels.hpp"

namespace cambrian::cpu {

namespace {

// Words of a group of individuals that stay in the second-level cache.
constexpr std::int64_t group_words = std::int64_t{64} * 1024;
// A body that leaves room for fewer than 32 individuals is not worth the calls.
static_assert(group_words / max_transposed_words == 32);
// Fewer individuals leave most of a vector empty, which only small values are worth: that of a step
// has so many elements in the mean.
constexpr std::int64_t min_count = lanes / 2 + 1;
constexpr std::int64_t small_value = lanes;
constexpr std::int64_t max_columns = 256;
// After so many steps it is looked who has come to its end.
constexpr std::int64_t steps_unwatched = 4;
// Columns are moved together where one in so many has.
constexpr std::int64_t min_share_that_leaves = 8;

/// What enters or leaves the body at a step, or what all steps see.
struct Port {
    BufferView ref;              ///< Of the operand or result.
    std::int64_t elements = 0;   ///< That the body sees.
    std::int64_t first_row = 0;  ///< Of its rows in the step's memory.
    bool stays = false;  ///< One value for all individuals, or read where each has it outside.
};

class TransposedScanKernel : public Kernel {
  public:
    /// @param plain the same scan, one individual after another.
    TransposedScanKernel(const KernelContext& context, TransposedGraph body,
                         std::unique_ptr<Kernel> plain)
        : body_(std::move(body)), plain_(std::move(plain)), rows_(body_.temporaries()) {
        const auto& scan = context.attribute<ScanAttribute>();
        length_ = scan.length;
        reverse_ = scan.reverse;
        alive_ = scan.alive_carry;
        carries_ = static_cast<std::size_t>(scan.carries);
        sequences_ = static_cast<std::size_t>(scan.sequences);
        for (std::size_t i = 0; i < context.operands.size(); ++i)
            inputs_.push_back(port(context.operands[i], scan.body->value(scan.body->inputs()[i]),
                                   body_.stays(i)));
        for (std::size_t i = 0; i < scan.body->outputs().size(); ++i)
            outputs_.push_back(
                port(context.results[i], scan.body->value(scan.body->outputs()[i]), false));
        min_count_ = body_.mean_elements() <= small_value ? 1 : min_count;
        // Each individual has a row of its number.
        individuals_ = std::exchange(rows_, rows_ + 1);
        max_group_ = whole_vectors(
            std::max(std::min({group_words / rows_, context.owner.block(), max_columns}), lanes));
        memory_ =
            context.owner.reserve(scratch_at(max_group_) + body_.scratch_words(max_group_), false);
        frame_ = context.owner.add_transposed(body_.slots());
    }

    /// Rows of the body and of all that enters or leaves it.
    static std::int64_t rows_of(const TransposedGraph& transposed, const KernelContext& context) {
        const Graph& body = *context.attribute<ScanAttribute>().body;
        std::int64_t rows = transposed.temporaries();
        const auto add = [&](ValueId id) {
            if (body.value(id).per_individual) rows += body.value(id).shape.elements();
        };
        for (std::size_t i = 0; i < body.inputs().size(); ++i)
            if (!transposed.stays(i)) add(body.inputs()[i]);
        for (const ValueId id : body.outputs()) add(id);
        return rows;
    }

    void run(Frame& frame, std::int64_t count) const override {
        if (count < min_count_) return plain_->run(frame, count);
        Frame& body = frame.transposed[frame_];
        for (std::int64_t first = 0; first < count;) {
            const std::int64_t now = group_size(frame, body, first, count - first);
            run_group(frame, body, first, now);
            first += now;
        }
    }

  private:
    using Flags = std::int32_t[max_columns];

    /// One pass of a group: the individuals that are left, and where their carries are.
    struct Group {
        std::int64_t first = 0;  ///< Individual of the block.
        std::int64_t count = 0;  ///< Of those that are left.
        bool swapped = false;    ///< Whether carries lie in the rows of the outputs.

        /// Words of a row. Those after the last individual are copies of it, so that no loop has a
        /// rest.
        [[nodiscard]] std::int64_t width() const { return whole_vectors(count); }
    };

    /// Of the next group of so many individuals that are left. Groups are about the same size: a
    /// small one takes nearly as long as a large one.
    std::int64_t group_size(const Frame& frame, Frame& body, std::int64_t first,
                            std::int64_t left) const {
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            if (inputs_[i].stays)
                body.slots[body_.input_slot(i)] = bytes(place(frame, inputs_[i], first));
        const std::int64_t fitting = body_.fitting(body, std::min(left, max_group_));
        const std::int64_t groups = (left + fitting - 1) / fitting;
        const std::int64_t even = (left + groups - 1) / groups;
        // Full vectors, where there is room for them.
        return std::min(fitting, whole_vectors(even));
    }

    void run_group(Frame& frame, Frame& body, std::int64_t first, std::int64_t count) const {
        Word* const memory = frame.at<Word>(memory_);
        Group group{.first = first, .count = count};
        body.slots[arena_slot] = bytes(memory);
        body.slots[scratch_slot] = bytes(memory + scratch_at(max_group_));
        body.slots[constants_slot] = body_.constants();
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            if (i < carries_ || i >= carries_ + sequences_)
                enter(frame, memory, inputs_[i], group, 0, body.slots[body_.input_slot(i)]);
        std::iota(individuals(memory, group), individuals(memory, group) + count, 0);
        bind(body, memory, group);
        for (std::int64_t step = 0; step < length_; ++step) {
            if (alive_ >= 0 && step % steps_unwatched == 0) {
                Flags alive;
                const std::int64_t left = count_alive(body, group, alive);
                if (left == 0) break;
                if (sequences_ == 0 &&
                    left <= group.count -
                                std::max(group.count / min_share_that_leaves, std::int64_t{1}))
                    close_ranks(frame, body, memory, group, alive);
            }
            run_step(frame, body, memory, group, reverse_ ? length_ - 1 - step : step);
        }
        for (std::int64_t column = 0; column < group.count; ++column)
            leave(frame, body, memory, group, column);
    }

    static std::byte* bytes(Word* words) { return reinterpret_cast<std::byte*>(words); }
    static Word* words_at(std::byte* bytes) { return reinterpret_cast<Word*>(bytes); }

    Port port(const BufferView& ref, const ValueInfo& info, bool stays) {
        Port port{ref, info.shape.elements(), rows_, stays || !info.per_individual};
        if (!port.stays) rows_ += port.elements;
        return port;
    }

    /// Words before the scratch memory of the body.
    [[nodiscard]] std::int64_t scratch_at(std::int64_t count) const {
        constexpr std::int64_t line = 16;
        static_assert(TransposedGraph::padding % line == 0);
        return (rows_ * count + line - 1) / line * line + TransposedGraph::padding;
    }

    /// Where individual `first` of a block lies outside.
    static Word* place(const Frame& frame, const Port& port, std::int64_t first) {
        return frame.at<Word>(port.ref) + first * port.ref.stride;
    }

    static Word* rows(Word* memory, const Port& port, const Group& group) {
        return memory + port.first_row * group.width();
    }
    [[nodiscard]] std::int32_t* individuals(Word* memory, const Group& group) const {
        return reinterpret_cast<std::int32_t*>(memory + individuals_ * group.width());
    }

    /// Turns the elements from `offset` on into rows, once for all individuals of a block.
    static void enter(const Frame& frame, Word* memory, const Port& port, const Group& group,
                      std::int64_t offset, std::byte*& slot) {
        Word* const from = place(frame, port, group.first) + offset;
        if (port.stays) {
            slot = bytes(from);
            return;
        }
        Word* const to = rows(memory, port, group);
        transpose_to_rows({from, port.ref.stride, group.count}, port.elements, to, group.width());
        slot = bytes(to);
    }

    /// Shows the body where the rows of the individuals that are left lie.
    void bind(Frame& body, Word* memory, const Group& group) const {
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            if (!inputs_[i].stays && (i < carries_ || i >= carries_ + sequences_))
                body.slots[body_.input_slot(i)] = bytes(rows(memory, inputs_[i], group));
        for (std::size_t i = 0; i < outputs_.size(); ++i)
            body.slots[body_.output_slot(i)] = bytes(rows(memory, outputs_[i], group));
        if (group.swapped) swap_carries(body);
        body.individuals = {individuals(memory, group), static_cast<std::size_t>(group.count)};
        body_.arrange(body, group.width());
    }

    void swap_carries(Frame& body) const {
        for (std::size_t i = 0; i < carries_; ++i)
            std::swap(body.slots[body_.input_slot(i)], body.slots[body_.output_slot(i)]);
    }

    void run_step(const Frame& frame, Frame& body, Word* memory, Group& group,
                  std::int64_t position) const {
        for (std::size_t i = carries_; i < carries_ + sequences_; ++i)
            enter(frame, memory, inputs_[i], group, position * inputs_[i].elements,
                  body.slots[body_.input_slot(i)]);
        body_.run(body, group.width());
        for (std::size_t i = carries_; i < outputs_.size(); ++i) {
            const Port& port = outputs_[i];
            transpose_from_rows(rows(memory, port, group), group.width(), port.elements,
                                {place(frame, port, group.first) + position * port.elements,
                                 port.ref.stride, group.count});
        }
        // What a carry left in is where it enters the next step.
        swap_carries(body);
        group.swapped = !group.swapped;
    }

    /// Writes the carries of a column to where its individual lies outside.
    void leave(const Frame& frame, const Frame& body, Word* memory, const Group& group,
               std::int64_t column) const {
        const std::int64_t individual = group.first + individuals(memory, group)[column];
        for (std::size_t i = 0; i < carries_; ++i) {
            const Word* const from = words_at(body.slots[body_.input_slot(i)]) + column;
            Word* const to = place(frame, outputs_[i], individual);
            for (std::int64_t e = 0; e < outputs_[i].elements; ++e) to[e] = from[e * group.width()];
        }
    }

    /// Of each column, whether its individual is alive; → how many are.
    std::int64_t count_alive(const Frame& body, const Group& group, Flags& alive) const {
        const auto carry = static_cast<std::size_t>(alive_);
        const auto* flags =
            reinterpret_cast<const std::int32_t*>(body.slots[body_.input_slot(carry)]);
        std::fill_n(alive, group.count, 0);
        for (std::int64_t e = 0; e < inputs_[carry].elements; ++e)
            for (std::int64_t i = 0; i < group.count; ++i) alive[i] |= flags[e * group.width() + i];
        return group.count - std::count(alive, alive + group.count, 0);
    }

    /// Writes the carries of those that are not alive, and moves the others together.
    void close_ranks(const Frame& frame, Frame& body, Word* memory, Group& group,
                     const Flags& alive) const {
        const Group before = group;
        Flags kept;
        group.count = 0;
        for (std::int32_t column = 0; column < before.count; ++column) {
            if (alive[column] != 0)
                kept[group.count++] = column;
            else
                leave(frame, body, memory, before, column);
        }
        std::fill(kept + group.count, kept + group.width(), kept[group.count - 1]);
        // Rows move towards the front, the foremost first.
        const auto close = [&](std::int64_t first_row, std::int64_t row_count) {
            for (std::int64_t row = first_row; row < first_row + row_count; ++row)
                for (std::int64_t i = 0; i < group.width(); ++i)
                    memory[row * group.width() + i] = memory[row * before.width() + kept[i]];
        };
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            if (!inputs_[i].stays && (i >= carries_ || !group.swapped))
                close(inputs_[i].first_row, inputs_[i].elements);
        for (std::size_t i = 0; i < carries_; ++i)
            if (group.swapped) close(outputs_[i].first_row, outputs_[i].elements);
        close(individuals_, 1);
        bind(body, memory, group);
    }

    TransposedGraph body_;
    std::unique_ptr<Kernel> plain_;
    std::int64_t min_count_ = 0;
    std::int64_t max_group_ = 0;
    std::int64_t length_ = 0;
    bool reverse_ = false;
    int alive_ = -1;
    std::size_t carries_ = 0;
    std::size_t sequences_ = 0;
    std::int64_t rows_ = 0;
    std::int64_t individuals_ = 0;  ///< The row with the individual of each column.
    std::vector<Port> inputs_;
    std::vector<Port> outputs_;
    BufferView memory_;
    std::size_t frame_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_transposed_scan(
    const KernelContext& context, std::unique_ptr<Kernel> (*plain)(const KernelContext&)) {
    if (!context.per_individual) return nullptr;
    const auto& scan = context.attribute<ScanAttribute>();
    std::vector<std::int64_t> strides;
    for (const BufferView& operand : context.operands) strides.push_back(operand.stride);
    auto transposed =
        TransposedGraph::make(*scan.body,
                              {strides, static_cast<std::size_t>(scan.carries) +
                                            static_cast<std::size_t>(scan.sequences)},
                              context.math, context.owner.account(), context.owner.profile());
    if (!transposed) return nullptr;
    // Bodies of large values fill vectors one individual at a time.
    if (TransposedScanKernel::rows_of(*transposed, context) > max_transposed_words) return nullptr;
    return std::make_unique<TransposedScanKernel>(context, std::move(*transposed), plain(context));
}

}  // namespace cambrian::cpu
