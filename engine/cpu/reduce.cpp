#include <algorithm>

#include "cambrian/engine/cpu/kernel_table.hpp"
#include "cambrian/engine/cpu/split.hpp"

namespace cambrian::cpu {

namespace {

/// Walks the outer positions of all individuals, as one run where they lie evenly in memory.
class ReduceStep : public Step {
  public:
    explicit ReduceStep(const Site& site)
        : split_(site.operand(0).shape, site.attribute<AxisAttribute>().axis),
          operand_(site.operands[0]),
          result_(site.results[0]) {}

  protected:
    struct Run {
        std::int64_t count;           ///< Outer positions.
        std::int64_t operand_stride;  ///< Words between them.
        std::int64_t result_stride;
    };

    template <class Element, class Result, class Body>
    void for_each_run(Frame& frame, std::int64_t count, Body body) const {
        const auto* operand = frame.at<Element>(operand_);
        auto* result = frame.at<Result>(result_);
        const std::int64_t words = split_.length * split_.inner;
        const bool even = operand_.stride == split_.outer * words &&
                          result_.stride == split_.outer * split_.inner;
        if (even) {
            body(operand, result, Run{count * split_.outer, words, split_.inner});
        } else if (split_.outer == 1) {
            body(operand, result, Run{count, operand_.stride, result_.stride});
        } else {
            for (std::int64_t i = 0; i < count; ++i) {
                body(operand + i * operand_.stride, result + i * result_.stride,
                     Run{split_.outer, words, split_.inner});
            }
        }
    }

    Split split_;
    Ref operand_;
    Ref result_;
};

template <class Element>
struct Sum {
    using Type = Element;
    static Element fold(Element sum, Element x) {
        if constexpr (std::is_same_v<Element, float>) {
            return sum + x;
        } else {
            return static_cast<Element>(static_cast<std::uint32_t>(sum) +
                                        static_cast<std::uint32_t>(x));
        }
    }
};

template <class Element>
struct Max {
    using Type = Element;
    static Element fold(Element largest, Element x) { return x > largest ? x : largest; }
};

// Sums have one order everywhere: from the first element of the axis to its last.
template <class Fold>
class FoldStep : public ReduceStep {
    using Element = typename Fold::Type;

  public:
    using ReduceStep::ReduceStep;

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
            std::fill_n(result + i * run.result_stride, split_.inner, Element{0});
        }
    }

    // The chain along a row is serial; eight rows at once hide its latency.
    void fold_rows(const Element* operand, Element* result, Run run) const {
        constexpr std::int64_t width = 8;
        std::int64_t row = 0;
        for (; row + width <= run.count; row += width) {
            Element folded[width];
            const Element* first = operand + row * run.operand_stride;
            for (std::int64_t r = 0; r < width; ++r) {
                folded[r] = first[r * run.operand_stride];
            }
            for (std::int64_t k = 1; k < split_.length; ++k) {
                for (std::int64_t r = 0; r < width; ++r) {
                    folded[r] = Fold::fold(folded[r], first[r * run.operand_stride + k]);
                }
            }
            for (std::int64_t r = 0; r < width; ++r) {
                result[(row + r) * run.result_stride] = folded[r];
            }
        }
        for (; row < run.count; ++row) {
            const Element* x = operand + row * run.operand_stride;
            Element folded = x[0];
            for (std::int64_t k = 1; k < split_.length; ++k) {
                folded = Fold::fold(folded, x[k]);
            }
            result[row * run.result_stride] = folded;
        }
    }

    void fold_columns(const Element* operand, Element* result, Run run) const {
        for (std::int64_t i = 0; i < run.count; ++i) {
            const Element* __restrict__ x = operand + i * run.operand_stride;
            Element* __restrict__ folded = result + i * run.result_stride;
            std::copy_n(x, split_.inner, folded);
            for (std::int64_t k = 1; k < split_.length; ++k) {
                x += split_.inner;
                for (std::int64_t j = 0; j < split_.inner; ++j) {
                    folded[j] = Fold::fold(folded[j], x[j]);
                }
            }
        }
    }
};

template <class Element>
class ArgmaxStep : public ReduceStep {
  public:
    using ReduceStep::ReduceStep;

    void run(Frame& frame, std::int64_t count) const override {
        for_each_run<Element, std::int32_t>(
            frame, count, [&](const Element* operand, std::int32_t* result, Run run) {
                for (std::int64_t i = 0; i < run.count; ++i) {
                    for (std::int64_t j = 0; j < split_.inner; ++j) {
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
std::unique_ptr<Step> make_fold(const Site& site) {
    if (site.operand(0).type == ValueType::real) {
        return std::make_unique<FoldStep<Fold<float>>>(site);
    }
    return std::make_unique<FoldStep<Fold<std::int32_t>>>(site);
}

}  // namespace

std::unique_ptr<Step> make_reduce_sum(const Site& site) {
    return make_fold<Sum>(site);
}

std::unique_ptr<Step> make_reduce_max(const Site& site) {
    return make_fold<Max>(site);
}

std::unique_ptr<Step> make_argmax(const Site& site) {
    if (site.operand(0).type == ValueType::real) {
        return std::make_unique<ArgmaxStep<float>>(site);
    }
    return std::make_unique<ArgmaxStep<std::int32_t>>(site);
}

}  // namespace cambrian::cpu
