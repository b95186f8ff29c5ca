#include <algorithm>
#include <array>

#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

std::int64_t row_elements(const Shape& shape, std::int64_t rows) {
    return rows == 0 ? 0 : shape.elements() / rows;
}

class GatherKernel : public Kernel {
  public:
    explicit GatherKernel(const KernelContext& context)
        : resources_(context.owner.resources()),
          per_individual_(context.per_individual),
          table_(context.operands[0]),
          indices_(context.operands[1]),
          result_(context.results[0]),
          status_(context.owner.status()),
          rows_(context.operand(0).shape[0]),
          row_(row_elements(context.operand(0).shape, rows_)),
          count_(context.operand(1).shape.elements()),
          narrow_(pipeline(1)),
          wide_(resources_.device.limits().software || row_ % vector_words != 0
                    ? nullptr
                    : &pipeline(vector_words)) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const bool wide = wide_ != nullptr && aligned(frame, table_) && aligned(frame, result_);
        const std::int64_t row_items = row_ / (wide ? vector_words : 1);
        const std::int64_t items = (per_individual_ ? frame.population : 1) * count_ * row_items;
        if (items == 0) return;
        vulkan::Push push;
        push.address = {frame.address(result_), frame.address(table_), frame.address(indices_),
                        frame.address(status_)};
        constexpr std::int64_t max_rows = std::int64_t{1} << 31;  // No index reaches more.
        const std::array words{items,
                               row_items,
                               count_,
                               std::min(rows_, max_rows),
                               static_cast<std::int64_t>(DataError::gather_out_of_range),
                               result_.stride,
                               table_.stride,
                               indices_.stride};
        std::ranges::transform(words, push.word.begin(),
                               [](std::int64_t w) { return static_cast<std::uint32_t>(w); });
        // The status words are exchanged atomically and read when all is done.
        const std::array reads{frame.range(table_, rows_ * row_), frame.range(indices_, count_)};
        const std::array writes{frame.range(result_, count_ * row_)};
        recorder.dispatch(wide ? *wide_ : narrow_, push,
                          groups_for(items, plain_group_width(resources_)), reads, writes);
    }

  private:
    [[nodiscard]] const vulkan::Pipeline& pipeline(std::int64_t width) const {
        return static_pipeline(
            resources_, "gather",
            std::array{plain_group_width(resources_), static_cast<std::uint32_t>(width)});
    }
    static bool aligned(const Frame& frame, const BufferView& view) {
        return view.stride % vector_words == 0 &&
               frame.address(view) % (vector_words * word_bytes) == 0;
    }

    Resources& resources_;
    bool per_individual_;
    BufferView table_, indices_, result_, status_;
    std::int64_t rows_, row_, count_;
    const vulkan::Pipeline& narrow_;
    const vulkan::Pipeline* wide_;
};

}  // namespace

std::unique_ptr<Kernel> make_gather(const KernelContext& context) {
    return std::make_unique<GatherKernel>(context);
}

}  // namespace cambrian::gpu
