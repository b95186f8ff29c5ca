#include <algorithm>
#include <array>

#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/kernels/rows.hpp"
#include "cambrian/engine/tensor/shape.hpp"

namespace cambrian::cpu {

namespace {

/// Walks the outer positions of all individuals, as one run where they lie evenly in memory.
class ReduceKernel : public Kernel {
  public:
    explicit ReduceKernel(const KernelContext& context)
        : split_(context.operand(0).shape, context.attribute<AxisAttribute>().axis),
          operand_(context.operands[0]),
          result_(context.results[0]) {}

  protected:
    struct Run {
        std::int64_t count;           ///< Outer positions.
        std::int64_t operand_stride;  ///< Words between them.
        std::int64_t result_stride;
        std::int64_t columns;  ///< Of the inner positions, from where operand and result point to.
    };

    template <class Element, class Result, class Body>
    void for_each_run(Frame& frame, std::int64_t count, Body body) const {
        const auto* operand = frame.at<Element>(operand_);
        auto* result = frame.at<Result>(result_);
        const std::int64_t words = split_.length * split_.inner;
        const bool even = operand_.stride == split_.outer * words &&
                          result_.stride == split_.outer * split_.inner;
        const auto spread_run = [&](const Element* x, Result* y, const Run& run) {
            spread(frame.team, run, [&](std::int64_t row, std::int64_t column, const Run& part) {
                body(x + row * run.operand_stride + column, y + row * run.result_stride + column,
                     part);
            });
        };
        if (even) {
            spread_run(operand, result, {count * split_.outer, words, split_.inner, split_.inner});
        } else if (split_.outer == 1) {
            spread_run(operand, result, {count, operand_.stride, result_.stride, split_.inner});
        } else {
            for (std::int64_t i = 0; i < count; ++i) {
                spread_run(operand + i * operand_.stride, result + i * result_.stride,
                           {split_.outer, words, split_.inner, split_.inner});
            }
        }
    }

    /// Calls work(row, column, part) for parts of a run: of its rows, or of the columns of few.
    template <class Work>
    void spread(const Team& team, const Run& run, const Work& work) const {
        constexpr std::int64_t part_elements = 32768;
        constexpr std::int64_t unit = 16;
        const std::int64_t words = std::max<std::int64_t>(1, split_.length * split_.inner);
        const bool by_rows = run.count >= 2 * unit || run.columns < 2 * unit;
        const std::int64_t extent = by_rows ? run.count : run.columns;
        const std::int64_t each =
            std::max<std::int64_t>(1, by_rows ? words : words / run.columns * run.count);
        const std::int64_t size = std::max(unit, part_elements / each / unit * unit);
        if (team.pool == nullptr || extent <= size) {
            work(0, 0, run);
            return;
        }
        for_each_part(team, (extent + size - 1) / size, [&](std::int64_t index) {
            const std::int64_t first = index * size;
            Run part = run;
            (by_rows ? part.count : part.columns) = std::min(size, extent - first);
            work(by_rows ? first : 0, by_rows ? 0 : first, part);
        });
    }

    AxisSplit split_;
    BufferView operand_;
    BufferView result_;
};

template <class Element>
struct Sum {
    using Type = Element;
    static Element fold(Element sum, Element x) { return add(sum, x); }
    static constexpr auto rows = [](auto... arguments) { fold_sum(arguments...); };
};

template <class Element>
struct Max {
    using Type = Element;
    static Element fold(Element largest, Element x) { return x > largest ? x : largest; }
    static constexpr auto rows = [](auto... arguments) { fold_max(arguments...); };
};

// Sums have one order everywhere: from the first element of the axis to its last.
template <class Fold>
class FoldKernel : public ReduceKernel {
    using Element = typename Fold::Type;

  public:
    using ReduceKernel::ReduceKernel;

    void run(Frame& frame, std::int64_t count) const override {
        for_each_run<Element, Element>(frame, count,
                                       [&](const Element* operand, Element* result, Run run) {
                                           if (split_.length == 0) {
                                               fill_empty(result, run);
                                           } else if (split_.inner == 1) {
                                               fold_rows(operand, result, run);
                                           } else {
                                               fold_columns(operand, result, run);
                                           }
                                       });
    }

  private:
    void fill_empty(Element* result, Run run) const {
        for (std::int64_t i = 0; i < run.count; ++i) {
            std::fill_n(result + i * run.result_stride, run.columns, Element{0});
        }
    }

    void fold_rows(const Element* operand, Element* result, Run run) const {
        if (run.result_stride == 1) {
            Fold::rows(operand, run.operand_stride, run.count, split_.length, result, true);
            return;
        }
        std::array<Element, 16> folded;
        for (std::int64_t row = 0; row < run.count; row += std::ssize(folded)) {
            const std::int64_t rows = std::min(std::ssize(folded), run.count - row);
            Fold::rows(operand + row * run.operand_stride, run.operand_stride, rows, split_.length,
                       folded.data(), true);
            for (std::int64_t r = 0; r < rows; ++r) {
                result[(row + r) * run.result_stride] = folded[static_cast<std::size_t>(r)];
            }
        }
    }

    void fold_columns(const Element* operand, Element* result, Run run) const {
        for (std::int64_t i = 0; i < run.count; ++i) {
            const Element* __restrict__ x = operand + i * run.operand_stride;
            Element* __restrict__ folded = result + i * run.result_stride;
            std::copy_n(x, run.columns, folded);
            for (std::int64_t k = 1; k < split_.length; ++k) {
                x += split_.inner;
                for (std::int64_t j = 0; j < run.columns; ++j) {
                    folded[j] = Fold::fold(folded[j], x[j]);
                }
            }
        }
    }
};

template <class Element>
class ArgmaxKernel : public ReduceKernel {
  public:
    using ReduceKernel::ReduceKernel;

    void run(Frame& frame, std::int64_t count) const override {
        for_each_run<Element, std::int32_t>(
            frame, count, [&](const Element* operand, std::int32_t* result, Run run) {
                for (std::int64_t i = 0; i < run.count; ++i) {
                    for (std::int64_t j = 0; j < run.columns; ++j) {
                        result[i * run.result_stride + j] =
                            first_largest(operand + i * run.operand_stride + j);
                    }
                }
            });
    }

  private:
    std::int32_t first_largest(const Element* x) const {
        Element largest = x[0];
        std::int64_t index = 0;
        for (std::int64_t k = 1; k < split_.length; ++k) {
            const Element value = x[k * split_.inner];
            index = value > largest ? k : index;
            largest = value > largest ? value : largest;
        }
        return static_cast<std::int32_t>(index);
    }
};

template <template <class> class Fold>
std::unique_ptr<Kernel> make_fold(const KernelContext& context) {
    if (context.operand(0).type == ValueType::real) {
        return std::make_unique<FoldKernel<Fold<float>>>(context);
    }
    return std::make_unique<FoldKernel<Fold<std::int32_t>>>(context);
}

}  // namespace

std::unique_ptr<Kernel> make_reduce_sum(const KernelContext& context) {
    return make_fold<Sum>(context);
}

std::unique_ptr<Kernel> make_reduce_max(const KernelContext& context) {
    return make_fold<Max>(context);
}

std::unique_ptr<Kernel> make_argmax(const KernelContext& context) {
    if (context.operand(0).type == ValueType::real) {
        return std::make_unique<ArgmaxKernel<float>>(context);
    }
    return std::make_unique<ArgmaxKernel<std::int32_t>>(context);
}

}  // namespace cambrian::cpu
