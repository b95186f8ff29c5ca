#include <utility>
#include <vector>

#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/execution/nest.hpp"
#include "cambrian/engine/cpu/lanes/transposed_scan.hpp"

namespace cambrian::cpu {

namespace {

/// A carry alternates between two places, so that no step copies it.
struct Carry {
    BufferView places[2];
    std::uint32_t input = 0;        ///< Slot of the body it enters by.
    std::uint32_t output = 0;       ///< Slot of the body it leaves by.
    std::unique_ptr<Kernel> enter;  ///< From the operand to the first place.
    std::unique_ptr<Kernel>
        leave[2];  ///< From the last place to the result; null where it is there.
    bool per_individual = false;
};

/// A tensor of which each step sees one slice, `words` after each other.
struct Slices {
    BufferView ref;
    std::int64_t words = 0;
    std::uint32_t slot = 0;
};

class ScanKernel : public Kernel {
  public:
    explicit ScanKernel(const KernelContext& context) : owner_(&context.owner) {
        const auto& scan = context.attribute<ScanAttribute>();
        length_ = scan.length;
        reverse_ = scan.reverse;
        const Graph& body = *scan.body;
        const auto carries = static_cast<std::size_t>(scan.carries);
        const auto sequences = carries + static_cast<std::size_t>(scan.sequences);
        Boundary boundary;
        boundary.is_body = true;
        for (std::size_t i = 0; i < context.operands.size(); ++i) {
            const ValueInfo& info = body.value(body.inputs()[i]);
            const std::int64_t stride =
                i < carries ? info.shape.elements() : context.operands[i].stride;
            boundary.input_strides.push_back(info.per_individual ? stride : 0);
        }
        for (std::size_t i = 0; i < body.outputs().size(); ++i) {
            boundary.output_strides.push_back(i < carries ? boundary.input_strides[i]
                                                          : context.results[i].stride);
        }
        body_ = owner_->add_body(body, std::move(boundary));
        for (std::size_t i = 0; i < context.operands.size(); ++i) {
            if (i < carries) {
                add_carry(context, body, i);
            } else if (i < sequences) {
                const std::int64_t words = body.value(body.inputs()[i]).shape.elements();
                slices_.push_back({context.operands[i], words, compiled().input_slot(i)});
            } else {
                invariants_.push_back({context.operands[i], 0, compiled().input_slot(i)});
            }
        }
        for (std::size_t i = carries; i < body.outputs().size(); ++i) {
            const std::int64_t words = body.value(body.outputs()[i]).shape.elements();
            slices_.push_back({context.results[i], words, compiled().output_slot(i)});
        }
        if (scan.alive_carry >= 0) {
            alive_ = scan.alive_carry;
            const ValueId alive = body.inputs()[static_cast<std::size_t>(alive_)];
            alive_elements_ = body.value(alive).shape.elements();
        }
    }

    void run(Frame& frame, std::int64_t count) const override {
        Frame& body = frame.bodies[body_];
        body.team = frame.team;
        for (const Slices& invariant : invariants_) {
            body.slots[invariant.slot] = place(frame, invariant.ref);
        }
        for (const Carry& carry : carries_) {
            carry.enter->run(frame, carry.per_individual ? count : 1);
        }
        std::size_t now = 0;
        for (std::int64_t step = 0; step < length_ && any_alive(frame, now, count); ++step) {
            bind_step(frame, body, now, reverse_ ? length_ - 1 - step : step);
            compiled().run_block(body, count);
            now = 1 - now;
        }
        for (const Carry& carry : carries_) {
            if (carry.leave[now]) {
                carry.leave[now]->run(frame, carry.per_individual ? count : 1);
            }
        }
    }

  private:
    [[nodiscard]] const CompiledGraph& compiled() const { return owner_->body(body_); }

    void add_carry(const KernelContext& context, const Graph& body, std::size_t index) {
        const ValueInfo& info = body.value(body.inputs()[index]);
        const std::int64_t elements = info.shape.elements();
        const BufferView& result = context.results[index];
        Carry carry;
        carry.per_individual = info.per_individual;
        carry.input = compiled().input_slot(index);
        carry.output = compiled().output_slot(index);
        // The result itself is one of the two places where its individuals lie side by side.
        const bool in_place = result.stride == (info.per_individual ? elements : 0);
        carry.places[0] = in_place ? result : owner_->reserve(elements, info.per_individual);
        carry.places[1] = owner_->reserve(elements, info.per_individual);
        carry.enter =
            make_copy(carry.places[0], context.operands[index], elements, info.per_individual);
        for (std::size_t place = in_place ? 1 : 0; place < 2; ++place) {
            carry.leave[place] =
                make_copy(result, carry.places[place], elements, info.per_individual);
        }
        carries_.push_back(std::move(carry));
    }

    void bind_step(Frame& frame, Frame& body, std::size_t now, std::int64_t position) const {
        for (const Carry& carry : carries_) {
            body.slots[carry.input] = place(frame, carry.places[now]);
            body.slots[carry.output] = place(frame, carry.places[1 - now]);
        }
        if (alive_ >= 0 && carries_[static_cast<std::size_t>(alive_)].per_individual) {
            body.alive =
                frame.at<std::int32_t>(carries_[static_cast<std::size_t>(alive_)].places[now]);
            body.alive_words = alive_elements_;
        }
        for (const Slices& slices : slices_) {
            BufferView slice = slices.ref;
            slice.offset += position * slices.words;
            body.slots[slices.slot] = place(frame, slice);
        }
    }

    static std::byte* place(const Frame& frame, const BufferView& ref) {
        return reinterpret_cast<std::byte*>(frame.at<Word>(ref));
    }

    [[nodiscard]] bool any_alive(const Frame& frame, std::size_t now, std::int64_t count) const {
        if (alive_ < 0) {
            return true;
        }
        const Carry& carry = carries_[static_cast<std::size_t>(alive_)];
        const std::int64_t words = alive_elements_ * (carry.per_individual ? count : 1);
        const auto* flags = frame.at<std::int32_t>(carry.places[now]);
        std::int32_t any = 0;
        for (std::int64_t i = 0; i < words; ++i) {
            any |= flags[i];
        }
        return any != 0;
    }

    CompiledGraph* owner_;
    std::size_t body_ = 0;
    std::int64_t length_ = 0;
    bool reverse_ = false;
    int alive_ = -1;
    std::int64_t alive_elements_ = 0;
    std::vector<Carry> carries_;
    std::vector<Slices> slices_;
    std::vector<Slices> invariants_;
};

std::unique_ptr<Kernel> make_plain_scan(const KernelContext& context) {
    return std::make_unique<ScanKernel>(context);
}

}  // namespace

std::unique_ptr<Kernel> make_scan(const KernelContext& context) {
    if (auto transposed = make_transposed_scan(context, make_plain_scan)) return transposed;
    return make_plain_scan(context);
}

}  // namespace cambrian::cpu
