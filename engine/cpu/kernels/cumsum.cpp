#include <algorithm>

#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/kernels/rows.hpp"
#include "cambrian/engine/tensor/shape.hpp"

namespace cambrian::cpu {

namespace {

/// Sums have one order in both maths: along the axis, one element after the other.
template <class Element>
class CumsumKernel : public Kernel {
  public:
    explicit CumsumKernel(const KernelContext& context)
        : operand_(context.operands[0]),
          result_(context.results[0]),
          split_(context.operand(0).shape, context.attribute<CumsumAttribute>().axis),
          exclusive_(context.attribute<CumsumAttribute>().exclusive),
          reverse_(context.attribute<CumsumAttribute>().reverse) {}

    void run(Frame& frame, std::int64_t count) const override {
        if (split_.elements() == 0) {
            return;
        }
        const Lines lines{frame.at<Element>(operand_), frame.at<Element>(result_)};
        const std::int64_t rows = count * split_.outer;
        std::int64_t row = 0;
        if (split_.inner > 1) {
            for (; row < rows; ++row) {
                sum_columns(line(lines, row));
            }
            return;
        }
        // The chain along a row is serial; eight rows at once hide its latency.
        for (; row + 8 <= rows; row += 8) {
            sum_rows<8>(lines, row);
        }
        for (; row < rows; ++row) {
            sum_rows<1>(lines, row);
        }
    }

  private:
    struct Lines {
        const Element* operand;
        Element* result;
    };

    /// The elements that `row` sums over, from where the sum starts.
    [[nodiscard]] Lines line(const Lines& lines, std::int64_t row) const {
        const std::int64_t individual = row / split_.outer;
        const std::int64_t words = split_.length * split_.inner;
        const std::int64_t start =
            row % split_.outer * words + (reverse_ ? words - split_.inner : 0);
        return {lines.operand + individual * operand_.stride + start,
                lines.result + individual * result_.stride + start};
    }

    template <std::size_t width>
    void sum_rows(const Lines& lines, std::int64_t row) const {
        std::array<Lines, width> rows;
        std::array<Element, width> sums;
        for (std::size_t r = 0; r < width; ++r) {
            rows[r] = line(lines, row + static_cast<std::int64_t>(r));
            sums[r] = rows[r].operand[0];
            rows[r].result[0] = exclusive_ ? Element{0} : sums[r];
        }
        const std::int64_t step = reverse_ ? -1 : 1;
        for (std::int64_t k = 1; k < split_.length; ++k) {
            for (std::size_t r = 0; r < width; ++r) {
                const Element next = add(sums[r], rows[r].operand[k * step]);
                rows[r].result[k * step] = exclusive_ ? sums[r] : next;
                sums[r] = next;
            }
        }
    }

    void sum_columns(const Lines& lines) const {
        const std::int64_t inner = split_.inner;
        const std::int64_t step = reverse_ ? -inner : inner;
        const Element* __restrict__ x = lines.operand;
        Element* __restrict__ sums = lines.result;
        std::int64_t k = 0;
        if (exclusive_) {
            std::fill_n(sums, inner, Element{0});
            if (++k == split_.length) {
                return;
            }
            sums += step;
        }
        std::copy_n(x, inner, sums);
        while (++k < split_.length) {
            x += step;
            for (std::int64_t j = 0; j < inner; ++j) {
                sums[step + j] = add(sums[j], x[j]);
            }
            sums += step;
        }
    }

    BufferView operand_, result_;
    AxisSplit split_;
    bool exclusive_, reverse_;
};

}  // namespace

std::unique_ptr<Kernel> make_cumsum(const KernelContext& context) {
    if (context.operand(0).type == ValueType::real) {
        return std::make_unique<CumsumKernel<float>>(context);
    }
    return std::make_unique<CumsumKernel<std::int32_t>>(context);
}

}  // namespace cambrian::cpu
