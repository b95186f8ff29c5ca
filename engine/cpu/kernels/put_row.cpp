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
        all_heads_ = Shape(shape.extents().first(shape.extents().size() - 2)).elements();
    }

    void run(Frame& frame, std::int64_t count) const override {
        const bool in_place =
            frame.at<float>(result_) == frame.at<float>(rows_) && result_.stride == rows_.stride;
        // Rows alone are fewer words than it takes to wake other threads.
        if (in_place) {
            for (std::int64_t index = 0; index < count * all_heads_; ++index) put(frame, index);
            return;
        }
        for_each_part(frame.team, count * all_heads_, [&](std::int64_t index, std::byte*) {
            const std::int64_t words = positions_ * width_;
            const float* from = frame.at<float>(rows_) + index / all_heads_ * rows_.stride +
                                index % all_heads_ * words;
            std::copy_n(from, words, head_of(frame, index));
            put(frame, index);
        });
    }

  private:
    /// @param index of a head among those of all individuals.
    [[nodiscard]] float* head_of(Frame& frame, std::int64_t index) const {
        return frame.at<float>(result_) + index / all_heads_ * result_.stride +
               index % all_heads_ * positions_ * width_;
    }

    void put(Frame& frame, std::int64_t index) const {
        const std::int64_t individual = index / all_heads_;
        const std::int64_t head = index % all_heads_;
        const std::int64_t at =
            frame.at<std::int32_t>(position_)[individual * position_.stride + head / heads_];
        if (at < 0 || at >= positions_) return;
        const float* row = frame.at<float>(row_) + individual * row_.stride + head * width_;
        std::copy_n(row, width_, head_of(frame, index) + at * width_);
    }

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
