#include "cambrian/gpu/kernels/kernel_table.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/codegen/fused/fused_source.hpp"
#include "cambrian/gpu/codegen/shader_compiler.hpp"
#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/fused/fused_axes.hpp"

namespace cambrian::gpu {
namespace {

/// Rows must be whole vectors, except for a single row; each view is a run or one word along it.
bool fits_vectors(const FusedAxes& axes) {
    const FusedAxes::Axis& inner = axes.axes().back();
    if (inner.strides[0] != 1) return false;
    for (const std::int64_t stride : inner.strides)
        if (stride != 0 && stride != 1) return false;
    if (axes.axes().size() == 1) return true;
    if (inner.extent % vector_words != 0) return false;
    for (std::size_t axis = 0; axis + 1 < axes.axes().size(); ++axis)
        for (std::size_t view = 0; view < inner.strides.size(); ++view)
            if (inner.strides[view] == 1 && axes.axes()[axis].strides[view] % vector_words != 0)
                return false;
    return true;
}

/// A fusion group of elementwise ops: one invocation for one or four elements.
class FusedElementsKernel : public Kernel {
  public:
    explicit FusedElementsKernel(const KernelContext& context)
        : resources_(context.owner.resources()),
          per_individual_(context.per_individual),
          axes_(context, context.result().shape, 0),
          views_(context),
          name_(fused_name(*context.attribute<FusedAttribute>().body)),
          text_(fused_elements_source(*context.attribute<FusedAttribute>().body)),
          numbers_(pushed_numbers(*context.attribute<FusedAttribute>().body)),
          first_number_(
              static_cast<std::ptrdiff_t>(first_number(*context.attribute<FusedAttribute>().body))),
          // A software device gains nothing from vectors and compiles four times as much for them.
          may_be_wide_(!resources_.device.limits().software && fits_vectors(axes_)) {
        CAMBRIAN_ASSERT(views_.buffers.size() <= table_address);
        if (axes_.axes().size() > 1 && axes_.positions() > 0)
            table_ = context.owner.table(axes_.table(1));
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t total = axes_.positions() * (per_individual_ ? frame.population : 1);
        if (total == 0) return;
        const std::vector<vulkan::Range> touched = views_.ranges(frame);
        const bool wide = wide_in(touched, total);
        const std::int64_t width = wide ? vector_words : 1;
        const FusedAxes::Axis& inner = axes_.axes().back();
        vulkan::Push push;
        for (std::size_t view = 0; view < touched.size(); ++view) {
            push.address[view] = touched[view].address;
            push.word[5 + view] = static_cast<std::uint32_t>(inner.strides[view]);
        }
        if (axes_.axes().size() > 1) push.address[table_address] = frame.address(table_);
        push.word[0] = static_cast<std::uint32_t>(total / width);
        push.word[1] = static_cast<std::uint32_t>(inner.extent / width);
        const MagicNumbers magic(std::max(push.word[1], 1U));
        push.word[2] = magic.magic;
        push.word[3] = magic.shifts;
        push.word[4] = static_cast<std::uint32_t>(axes_.axes().size() - 1);
        std::ranges::copy(numbers_, push.word.begin() + first_number_);
        const std::span<const vulkan::Range> all(touched);
        const std::uint32_t items_of_group = plain_group_width(resources_) * items_each(wide);
        recorder.dispatch(pipeline(wide), push, groups_for(total / width, items_of_group),
                          all.subspan(1), all.first(1));
    }

  private:
    /// Of one invocation: words one by one are too little to keep memory busy.
    [[nodiscard]] std::uint32_t items_each(bool wide) const {
        return wide || resources_.device.limits().software ? 1 : 4;
    }

    [[nodiscard]] bool wide_in(std::span<const vulkan::Range> views, std::int64_t total) const {
        if (!may_be_wide_ || (axes_.axes().size() == 1 && total % vector_words != 0)) return false;
        for (std::size_t view = 0; view < views.size(); ++view)
            if (axes_.axes().back().strides[view] != 0 &&
                views[view].address % (vector_words * word_bytes) != 0)
                return false;
        return true;
    }

    [[nodiscard]] const vulkan::Pipeline& pipeline(bool wide) const {
        const vulkan::Pipeline*& made = pipelines_[wide ? 1 : 0];
        if (made == nullptr) {
            const std::array<std::uint32_t, 3> constants{plain_group_width(resources_),
                                                         wide ? std::uint32_t{vector_words} : 1U,
                                                         items_each(wide)};
            made = &resources_.pipelines.get(name_, resources_.compiler.compile(name_, text_),
                                             constants);
        }
        return *made;
    }

    Resources& resources_;
    bool per_individual_;
    FusedAxes axes_;
    FusedViews views_;
    std::string name_;
    std::string text_;
    std::vector<std::uint32_t> numbers_;  ///< In the push block from the word `first_number_` on.
    std::ptrdiff_t first_number_;
    bool may_be_wide_;
    BufferView table_{};
    /// Made when first needed: most fusion groups need one of the two.
    mutable std::array<const vulkan::Pipeline*, 2> pipelines_{};
};

}  // namespace

std::unique_ptr<Kernel> make_fused(const KernelContext& context) {
    if (reduces_rows(*context.attribute<FusedAttribute>().body)) return make_fused_rows(context);
    return std::make_unique<FusedElementsKernel>(context);
}

}  // namespace cambrian::gpu
