#include "cambrian/engine/cpu/lanes/transposed_scan.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/lanes/transposed_graph.hpp"
#include "cambrian/engine/cpu/lanes/transposed_steps.hpp"

namespace cambrian::cpu {

namespace {

// Words of a group of individuals that stay in the second-level cache.
constexpr std::int64_t group_words = std::int64_t{64} * 1024;
// A body that leaves room for fewer than 32 individuals is not worth the calls.
static_assert(group_words / max_transposed_words == 32);
// Fewer individuals leave vectors empty.
constexpr std::int64_t min_count = 8;

/// What enters or leaves the body at a step, or what all steps see.
struct Port {
    BufferView ref;              ///< Of the operand or result.
    std::int64_t elements = 0;   ///< That the body sees.
    std::int64_t first_row = 0;  ///< Of its rows in the step's memory.
    bool shared = false;         ///< One value for all individuals, which stays where it is.
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
            inputs_.push_back(port(context.operands[i], scan.body->value(scan.body->inputs()[i])));
        for (std::size_t i = 0; i < scan.body->outputs().size(); ++i)
            outputs_.push_back(port(context.results[i], scan.body->value(scan.body->outputs()[i])));
        group_ = std::min(context.owner.block(), group_words / std::max<std::int64_t>(rows_, 1));
        memory_ = context.owner.reserve(rows_ * group_ + TransposedGraph::padding, false);
        frame_ = context.owner.add_transposed(body_.slots());
    }

    /// Rows of the body and of all that enters or leaves it.
    static std::int64_t rows_of(const TransposedGraph& transposed, const KernelContext& context) {
        const Graph& body = *context.attribute<ScanAttribute>().body;
        std::int64_t rows = transposed.temporaries();
        for (const auto ids : {body.inputs(), body.outputs()})
            for (const ValueId id : ids)
                if (body.value(id).per_individual) rows += body.value(id).shape.elements();
        return rows;
    }

    void run(Frame& frame, std::int64_t count) const override {
        if (count < min_count) return plain_->run(frame, count);
        Frame& body = frame.transposed[frame_];
        for (std::int64_t first = 0; first < count; first += group_)
            run_group(frame, body, first, std::min(group_, count - first));
    }

  private:
    void run_group(Frame& frame, Frame& body, std::int64_t first, std::int64_t count) const {
        Word* const memory = frame.at<Word>(memory_);
        body.slots[arena_slot] = bytes(memory);
        body.slots[constants_slot] = body_.constants();
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            if (i < carries_ || i >= carries_ + sequences_)
                enter(frame, memory, inputs_[i], first, 0, body.slots[body_.input_slot(i)], count);
        for (std::size_t i = 0; i < outputs_.size(); ++i)
            body.slots[body_.output_slot(i)] = bytes(rows(memory, outputs_[i], count));
        for (std::int64_t step = 0; step < length_ && any_alive(body, count); ++step)
            run_step(frame, body, memory, first, reverse_ ? length_ - 1 - step : step, count);
        for (std::size_t i = 0; i < carries_; ++i)
            transpose_from_rows(words_at(body.slots[body_.input_slot(i)]), outputs_[i].elements,
                                place(frame, outputs_[i], first), outputs_[i].ref.stride, count);
    }

    static std::byte* bytes(Word* words) { return reinterpret_cast<std::byte*>(words); }
    static Word* words_at(std::byte* bytes) { return reinterpret_cast<Word*>(bytes); }

    Port port(const BufferView& ref, const ValueInfo& info) {
        Port port{ref, info.shape.elements(), rows_, !info.per_individual};
        if (!port.shared) rows_ += port.elements;
        return port;
    }

    /// Where individual `first` of a block lies outside.
    static Word* place(const Frame& frame, const Port& port, std::int64_t first) {
        return frame.at<Word>(port.ref) + first * port.ref.stride;
    }

    static Word* rows(Word* memory, const Port& port, std::int64_t count) {
        return memory + port.first_row * count;
    }

    /// Turns the elements from `offset` on into rows, once for all individuals of a block.
    static void enter(const Frame& frame, Word* memory, const Port& port, std::int64_t first,
                      std::int64_t offset, std::byte*& slot, std::int64_t count) {
        Word* const from = place(frame, port, first) + offset;
        if (port.shared) {
            slot = bytes(from);
            return;
        }
        Word* const to = rows(memory, port, count);
        transpose_to_rows(from, port.ref.stride, port.elements, to, count);
        slot = bytes(to);
    }

    void run_step(const Frame& frame, Frame& body, Word* memory, std::int64_t first,
                  std::int64_t position, std::int64_t count) const {
        for (std::size_t i = carries_; i < carries_ + sequences_; ++i)
            enter(frame, memory, inputs_[i], first, position * inputs_[i].elements,
                  body.slots[body_.input_slot(i)], count);
        body_.run(body, count);
        for (std::size_t i = carries_; i < outputs_.size(); ++i) {
            const Port& port = outputs_[i];
            transpose_from_rows(rows(memory, port, count), port.elements,
                                place(frame, port, first) + position * port.elements,
                                port.ref.stride, count);
        }
        // What a carry left in is where it enters the next step.
        for (std::size_t i = 0; i < carries_; ++i)
            std::swap(body.slots[body_.input_slot(i)], body.slots[body_.output_slot(i)]);
    }

    [[nodiscard]] bool any_alive(const Frame& body, std::int64_t count) const {
        if (alive_ < 0) return true;
        const auto carry = static_cast<std::size_t>(alive_);
        const auto* flags =
            reinterpret_cast<const std::int32_t*>(body.slots[body_.input_slot(carry)]);
        std::int32_t any = 0;
        for (std::int64_t i = 0; i < inputs_[carry].elements * count; ++i) any |= flags[i];
        return any != 0;
    }

    TransposedGraph body_;
    std::unique_ptr<Kernel> plain_;
    std::int64_t group_ = 0;
    std::int64_t length_ = 0;
    bool reverse_ = false;
    int alive_ = -1;
    std::size_t carries_ = 0;
    std::size_t sequences_ = 0;
    std::int64_t rows_ = 0;
    std::vector<Port> inputs_;
    std::vector<Port> outputs_;
    BufferView memory_;
    std::size_t frame_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_transposed_scan(
    const KernelContext& context, std::unique_ptr<Kernel> (*plain)(const KernelContext&)) {
    if (!context.per_individual) return nullptr;
    const Graph& body = *context.attribute<ScanAttribute>().body;
    auto transposed =
        TransposedGraph::make(body, context.math, context.owner.account(), context.owner.profile());
    if (!transposed) return nullptr;
    // Bodies of large values fill vectors one individual at a time.
    if (TransposedScanKernel::rows_of(*transposed, context) > max_transposed_words) return nullptr;
    return std::make_unique<TransposedScanKernel>(context, std::move(*transposed), plain(context));
}

}  // namespace cambrian::cpu
