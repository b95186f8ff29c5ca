#include <array>
#include <utility>
#include <vector>

#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/kernel.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"
#include "cambrian/gpu/kernels/scan/row_kernel.hpp"

namespace cambrian::gpu {

namespace {

using Boundary = CompiledGraph::Boundary;

struct Carry {
    std::array<BufferView, 2> buffers;
    std::uint32_t input = 0;                       ///< Slot of the body it enters by.
    std::uint32_t output = 0;                      ///< Slot of the body it leaves by.
    std::unique_ptr<Kernel> enter;                 ///< From the operand to the first buffer.
    std::array<std::unique_ptr<Kernel>, 2> leave;  ///< From the last buffer to the result, or null.
};

/// A tensor of which each step sees one slice, `words` after each other.
struct Slices {
    BufferView buffer;
    std::int64_t words = 0;
    std::uint32_t slot = 0;
};

Boundary boundary_of(const KernelContext& context, const Graph& body, std::size_t carries) {
    Boundary boundary;
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
    return boundary;
}

/// A scan of any body: the body's dispatches recorded once for every step. Carries alternate
/// between two buffers; sequences, stacked results and invariants are read and written where they
/// are. All steps are walked: `alive_carry` only permits to stop earlier, and asking the device
/// would cost more.
class ScanSteps : public Kernel {
  public:
    explicit ScanSteps(const KernelContext& context) : owner_(&context.owner) {
        const auto& scan = context.attribute<ScanAttribute>();
        length_ = scan.length;
        reverse_ = scan.reverse;
        const Graph& body = *scan.body;
        const auto carries = static_cast<std::size_t>(scan.carries);
        const auto sequences = carries + static_cast<std::size_t>(scan.sequences);
        body_ = owner_->add_body(body, boundary_of(context, body, carries));
        for (std::size_t i = 0; i < carries; ++i) {
            add_carry(context, body, i);
        }
        for (std::size_t i = carries; i < context.operands.size(); ++i) {
            const std::int64_t words =
                i < sequences ? body.value(body.inputs()[i]).shape.elements() : 0;
            slices_.push_back({context.operands[i], words, compiled().input_slot(i)});
        }
        for (std::size_t i = carries; i < body.outputs().size(); ++i) {
            const std::int64_t words = body.value(body.outputs()[i]).shape.elements();
            slices_.push_back({context.results[i], words, compiled().output_slot(i)});
        }
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        for (const Carry& carry : carries_) {
            if (carry.enter) {
                carry.enter->record(recorder, frame);
            }
        }
        Frame body = frame.bodies[body_];
        std::size_t now = 0;
        for (std::int64_t step = 0; step < length_; ++step) {
            bind_step(frame, body, now, reverse_ ? length_ - 1 - step : step);
            compiled().record(recorder, body);
            now = 1 - now;
        }
        for (const Carry& carry : carries_) {
            if (carry.leave[now]) {
                carry.leave[now]->record(recorder, frame);
            }
        }
    }

  private:
    [[nodiscard]] const CompiledGraph& compiled() const { return owner_->body(body_); }

    void add_carry(const KernelContext& context, const Graph& body, std::size_t index) {
        const ValueInfo& info = body.value(body.inputs()[index]);
        const std::int64_t elements = info.shape.elements();
        const BufferView& result = context.results[index];
        Resources& resources = owner_->resources();
        Carry carry;
        carry.input = compiled().input_slot(index);
        carry.output = compiled().output_slot(index);
        // The result itself is one of the two buffers where its individuals lie side by side.
        const bool in_place = result.stride == (info.per_individual ? elements : 0);
        carry.buffers[0] = in_place ? result : owner_->reserve(elements, info.per_individual);
        carry.buffers[1] = owner_->reserve(elements, info.per_individual);
        carry.enter = make_view_copy(resources, carry.buffers[0], context.operands[index], elements,
                                     info.per_individual);
        for (std::size_t i = 0; i < 2; ++i) {
            carry.leave[i] =
                make_view_copy(resources, result, carry.buffers[i], elements, info.per_individual);
        }
        carries_.push_back(std::move(carry));
    }

    void bind_step(const Frame& frame, Frame& body, std::size_t now, std::int64_t position) const {
        for (const Carry& carry : carries_) {
            body.slots[carry.input] = frame.address(carry.buffers[now]);
            body.slots[carry.output] = frame.address(carry.buffers[1 - now]);
        }
        for (const Slices& slices : slices_) {
            BufferView slice = slices.buffer;
            slice.offset += position * slices.words;
            body.slots[slices.slot] = frame.address(slice);
        }
    }

    CompiledGraph* owner_;
    std::size_t body_ = 0;
    std::int64_t length_ = 0;
    bool reverse_ = false;
    std::vector<Carry> carries_;
    std::vector<Slices> slices_;
};

}  // namespace

std::unique_ptr<Kernel> make_scan(const KernelContext& context) {
    if (!context.owner.resources().fuse) return std::make_unique<ScanSteps>(context);
    const ScanAttribute scan = lower_row_body(context.attribute<ScanAttribute>());
    const RowAnalysis analysis = analyse_rows(scan, {});
    if (!analysis.obstacle.empty()) return std::make_unique<ScanSteps>(context);
    return make_row_kernel(scan, analysis,
                           {context.operands, context.results, context.per_individual},
                           context.owner, "scan_rows");
}

}  // namespace cambrian::gpu
