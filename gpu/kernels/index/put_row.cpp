#include <array>

#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

class PutRow : public Kernel {
  public:
    explicit PutRow(const KernelContext& context)
        : resources_(context.owner.resources()),
          per_individual_(context.per_individual),
          rows_(context.operands[0]),
          row_(context.operands[1]),
          position_(context.operands[2]),
          result_(context.results[0]),
          shape_(context.operand(0).shape),
          positions_(context.operand(2).shape.elements()),
          copy_(make_view_copy(resources_, result_, rows_, shape_.elements(), per_individual_)) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        // An input that the result replaces lies where the result is wanted.
        const bool in_place =
            frame.address(result_) == frame.address(rows_) && result_.stride == rows_.stride;
        if (!in_place && copy_) copy_->record(recorder, frame);
        const std::int64_t words = shape_.elements() / shape_[-2];
        const std::int64_t all = words * (per_individual_ ? frame.population : 1);
        if (all == 0) return;
        vulkan::Push push;
        push.address[0] = frame.address(result_);
        push.address[1] = frame.address(row_);
        push.address[2] = frame.address(position_);
        push.word[0] = word(all);
        push.word[1] = word(shape_[-1]);
        push.word[2] = word(shape_[-2]);
        push.word[3] = word(words / shape_[-1]);
        push.word[4] = word(shape_[-3]);
        push.word[5] = word(result_.stride);
        push.word[6] = word(row_.stride);
        push.word[7] = word(position_.stride);
        const std::uint32_t width = plain_group_width(resources_);
        recorder.dispatch(static_pipeline(resources_, "put_row", std::array{width}), push,
                          groups_for(all, width),
                          std::array{frame.range(row_, words), frame.range(position_, positions_)},
                          std::array{frame.range(result_, shape_.elements())});
    }

  private:
    Resources& resources_;
    bool per_individual_;
    BufferView rows_;
    BufferView row_;
    BufferView position_;
    BufferView result_;
    Shape shape_;
    std::int64_t positions_;  ///< Of an individual.
    std::unique_ptr<Kernel> copy_;
};

}  // namespace

std::unique_ptr<Kernel> make_put_row(const KernelContext& context) {
    return std::make_unique<PutRow>(context);
}

}  // namespace cambrian::gpu
