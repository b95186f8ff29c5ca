#include <algorithm>

#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"

namespace cambrian::cpu {
namespace {

class PutRow : public Kernel {
  public:
    explicit PutRow(const KernelContext& context)
        : rows_(context.operands[0]),
          row_(context.operands[1]),
          position_(context.operands[2]),
          result_(context.results[0]) {
        const Shape& shape = context.operand(0).shape;
        positions_ = shape[-2];
        width_ = shape[-1];
        heads_ = shape[-3];
        all_heads_ = shape.elements() / (positions_ * width_);
    }

    void run(Frame& frame, std::int64_t count) const override {
        for_each_part(frame.team, count * all_heads_, [&](std::int64_t index, std::byte*) {
            const std::int64_t individual = index / all_heads_;
            const std::int64_t head = index % all_heads_;
            const std::int64_t words = positions_ * width_;
            float* to = frame.at<float>(result_) + individual * result_.stride + head * words;
            const float* from = frame.at<float>(rows_) + individual * rows_.stride + head * words;
            if (to != from) std::copy_n(from, words, to);
            const std::int64_t at =
                frame.at<std::int32_t>(position_)[individual * position_.stride + head / heads_];
            if (at < 0 || at >= positions_) return;
            const float* row = frame.at<float>(row_) + individual * row_.stride + head * width_;
            std::copy_n(row, width_, to + at * width_);
        });
    }

  private:
    BufferView rows_;
    BufferView row_;
    BufferView position_;
    BufferView result_;
    std::int64_t positions_ = 0;
    std::int64_t width_ = 0;
    std::int64_t heads_ = 0;      ///< That share a position.
    std::int64_t all_heads_ = 0;  ///< Of an individual.
};

}  // namespace

std::unique_ptr<Kernel> make_put_row(const KernelContext& context) {
    return std::make_unique<PutRow>(context);
}

}  // namespace cambrian::cpu
