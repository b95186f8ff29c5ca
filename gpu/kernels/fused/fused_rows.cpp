#include <algorithm>
#include <array>
#include <bit>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/fused/fused_source.hpp"
#include "cambrian/gpu/codegen/shader_compiler.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/fused/fused_axes.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

/// How threads share a row. Follows from the row's length and the number of values kept alone, so
/// that the order of its sums never depends on the population or the device.
struct RowTiling {
    std::uint32_t row_threads = 1;
    std::uint32_t vectors = 1;  ///< Of each thread.
    std::uint32_t width = 1;    ///< Words of a vector.
    std::uint32_t group_threads = 128;
    bool in_registers = true;
    bool whole = false;  ///< All vectors of all threads lie in the row.

    RowTiling(std::int64_t length, int max_kept) {
        constexpr std::uint32_t max_threads = vulkan::needed_group_threads;
        const auto words = static_cast<std::uint32_t>(length);
        width = words % vector_words == 0 ? std::uint32_t{vector_words} : 1;
        const std::uint32_t all = words / width;
        const auto threads_for = [&](std::uint32_t words_each) {
            const std::uint32_t each = words_each / width;
            return std::bit_ceil((all + each - 1) / each);
        };
        // Short rows: few threads with some work each. Others: up to 256 threads, enough to hide
        // memory; longer rows fill the registers, of which about 64 hold elements, then take more.
        const std::uint32_t kept_words = max_kept <= 2 ? 32 : max_kept <= 4 ? 16 : 8;
        const std::uint32_t few = threads_for(width == 1 ? 8 : 16);
        const std::uint32_t many = std::min(threads_for(std::min(kept_words, 16U)), 256U);
        row_threads = few <= 32 ? few : std::max({32U, many, threads_for(kept_words)});
        row_threads = std::min(row_threads, max_threads);
        vectors = (all + row_threads - 1) / row_threads;
        // Rows that are no whole vectors come in many lengths: few pipelines for all of them.
        if (width == 1) vectors = std::bit_ceil(vectors);
        in_registers = vectors * width <= kept_words;
        if (!in_registers) vectors = 1;
        whole = in_registers && row_threads * vectors == all;
        group_threads = std::max(group_threads, row_threads);
    }
};

/// The rows' shape: of what the first reduction reads.
Shape row_shape(const Graph& body) {
    for (const Node& node : body.nodes())
        if (is_fold(node.op)) return body.value(body.operands(node)[0]).shape;
    CAMBRIAN_ASSERT(false);
    return {};
}

class FusedRowsKernel : public Kernel {
  public:
    FusedRowsKernel(const KernelContext& context, const Graph& body)
        : resources_(context.owner.resources()),
          per_individual_(context.per_individual),
          plan_(plan_fused_rows(body)),
          tiling_(plan_.row_length, plan_.max_kept),
          axes_(context, row_shape(body), 1),
          views_(context),
          name_("row_" + fused_name(body)),
          text_(fused_rows_source(body, plan_,
                                  {.in_registers = tiling_.in_registers,
                                   .unroll = !resources_.device.limits().software,
                                   .shuffles = shuffle_width() > 1})),
          numbers_(pushed_numbers(body)),
          first_number_(static_cast<std::ptrdiff_t>(first_number(body))) {
        CAMBRIAN_EXPECT(resources_.math == Math::fast);
        CAMBRIAN_ASSERT(views_.buffers.size() <= table_address);
        find_runs(context, body);
        if (axes_.positions() > 0) table_ = context.owner.table(axes_.table(0));
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::int64_t rows = axes_.positions() * (per_individual_ ? frame.population : 1);
        if (rows == 0) return;
        const std::vector<vulkan::Range> touched = views_.ranges(frame);
        vulkan::Push push;
        for (std::size_t view = 0; view < touched.size(); ++view)
            push.address[view] = touched[view].address;
        push.address[table_address] = frame.address(table_);
        push.word[0] = static_cast<std::uint32_t>(rows);
        push.word[1] = static_cast<std::uint32_t>(plan_.row_length);
        push.word[2] = static_cast<std::uint32_t>(axes_.axes().size());
        std::ranges::copy(numbers_, push.word.begin() + first_number_);
        const std::span<const vulkan::Range> all(touched);
        recorder.dispatch(pipeline(aligned_in(touched)), push,
                          groups_for(rows, tiling_.group_threads / tiling_.row_threads),
                          all.subspan(1), all.first(1));
    }

  private:
    /// Which views have one element for each column, and whether their rows keep vectors aligned.
    void find_runs(const KernelContext& context, const Graph& body) {
        const auto is_run = [&](const Shape& shape) {
            return plan_.row_length > 1 && shape.rank() > 0 && shape[-1] > 1;
        };
        runs_.push_back(is_run(context.result().shape));
        for (const ValueId id : body.inputs()) runs_.push_back(is_run(body.value(id).shape));
        may_be_aligned_ = tiling_.width == vector_words && !resources_.device.limits().software;
        for (const FusedAxes::Axis& axis : axes_.axes())
            for (std::size_t view = 0; view < runs_.size(); ++view)
                if (runs_[view] && axis.strides[view] % vector_words != 0) may_be_aligned_ = false;
    }

    /// Neighbours that hand over words in a subgroup; 1: none.
    [[nodiscard]] std::uint32_t shuffle_width() const {
        const vulkan::DeviceLimits& limits = resources_.device.limits();
        return limits.subgroup_scans ? limits.neighbours() : 1;
    }

    [[nodiscard]] bool aligned_in(std::span<const vulkan::Range> views) const {
        if (!may_be_aligned_) return false;
        for (std::size_t view = 0; view < views.size(); ++view)
            if (runs_[view] && views[view].address % (vector_words * word_bytes) != 0) return false;
        return true;
    }

    [[nodiscard]] const vulkan::Pipeline& pipeline(bool aligned) const {
        const vulkan::Pipeline*& made = pipelines_[aligned ? 1 : 0];
        if (made == nullptr) {
            const std::array<std::uint32_t, 8> constants{
                tiling_.group_threads, tiling_.row_threads,    tiling_.vectors,
                tiling_.width,         aligned ? 1U : 0U,      tiling_.group_threads,
                shuffle_width(),       tiling_.whole ? 1U : 0U};
            made = &resources_.pipelines.get(name_, resources_.compiler.compile(name_, text_),
                                             constants);
        }
        return *made;
    }

    Resources& resources_;
    bool per_individual_;
    FusedRowsPlan plan_;
    RowTiling tiling_;
    FusedAxes axes_;
    FusedViews views_;
    std::string name_;
    std::string text_;
    std::vector<std::uint32_t> numbers_;  ///< In the push block from the word `first_number_` on.
    std::ptrdiff_t first_number_;
    std::vector<bool> runs_;  ///< Of views.
    bool may_be_aligned_ = false;
    BufferView table_{};
    /// Made when first needed: most fusion groups need one of the two.
    mutable std::array<const vulkan::Pipeline*, 2> pipelines_{};
};

}  // namespace

std::unique_ptr<Kernel> make_fused_rows(const KernelContext& context) {
    return std::make_unique<FusedRowsKernel>(context, *context.attribute<FusedAttribute>().body);
}

}  // namespace cambrian::gpu
