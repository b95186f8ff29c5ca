#include <algorithm>

#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/kernels/rows.hpp"
#include "cambrian/engine/tensor/shape.hpp"

namespace cambrian::cpu {

namespace {

using Int = std::int32_t;

/// Elements of an axis by index: `indexed` is the tensor that the indices point into, with one
/// index for each element of the other tensor.
class AlongKernel : public Kernel {
  public:
    AlongKernel(const KernelContext& context, const Shape& indexed, int axis)
        : operand_(context.operands[0]),
          indices_(context.operands[1]),
          result_(context.results[0]),
          op_(context.node.op),
          indexed_(indexed, axis),
          own_(context.operand(1).shape, axis) {}

  protected:
    /// Calls move(position in the indexed tensor, position in the other) in order of position.
    template <class Move>
    void for_each_element(const Int* indices, Move move) const {
        check(indices);
        for (std::int64_t o = 0; o < own_.outer; ++o) {
            const std::int64_t first = o * own_.length * own_.inner;
            const std::int64_t target = o * indexed_.length * indexed_.inner;
            if (own_.inner == 1) {
                for (std::int64_t k = 0; k < own_.length; ++k) {
                    move(target + indices[first + k], first + k);
                }
                continue;
            }
            for (std::int64_t k = 0; k < own_.length; ++k) {
                for (std::int64_t i = 0; i < own_.inner; ++i) {
                    const std::int64_t at = first + k * own_.inner + i;
                    move(target + indices[at] * own_.inner + i, at);
                }
            }
        }
    }

    BufferView operand_, indices_, result_;
    Op op_;
    AxisSplit indexed_, own_;

  private:
    // All of them before any is used: the loop over what is right has no branch.
    void check(const Int* indices) const {
        const auto outside = [this](Int index) {
            return static_cast<std::uint32_t>(index) >= static_cast<std::uint64_t>(indexed_.length);
        };
        const std::int64_t count = own_.elements();
        bool any = false;
        for (std::int64_t at = 0; at < count; ++at) {
            any |= outside(indices[at]);
        }
        if (any) {
            fail_index(op_, *std::find_if(indices, indices + count, outside), indexed_.length);
        }
    }
};

class TakeAlongAxisKernel : public AlongKernel {
  public:
    explicit TakeAlongAxisKernel(const KernelContext& context)
        : AlongKernel(context, context.operand(0).shape, context.attribute<AxisAttribute>().axis) {}

    void run(Frame& frame, std::int64_t count) const override {
        for (std::int64_t i = 0; i < count; ++i) {
            const Word* const x = frame.at<Word>(operand_) + i * operand_.stride;
            Word* const result = frame.at<Word>(result_) + i * result_.stride;
            for_each_element(frame.at<Int>(indices_) + i * indices_.stride,
                             [=](std::int64_t from, std::int64_t to) { result[to] = x[from]; });
        }
    }
};

template <class Element>
class ScatterAddAlongAxisKernel : public AlongKernel {
  public:
    explicit ScatterAddAlongAxisKernel(const KernelContext& context)
        : AlongKernel(context, context.result().shape,
                      context.attribute<ScatterAlongAttribute>().axis) {}

    void run(Frame& frame, std::int64_t count) const override {
        for (std::int64_t i = 0; i < count; ++i) {
            const Element* const values = frame.at<Element>(operand_) + i * operand_.stride;
            Element* const result = frame.at<Element>(result_) + i * result_.stride;
            std::fill_n(result, indexed_.elements(), Element{0});
            for_each_element(frame.at<Int>(indices_) + i * indices_.stride,
                             [=](std::int64_t to, std::int64_t from) {
                                 result[to] = add(result[to], values[from]);
                             });
        }
    }
};

}  // namespace

std::unique_ptr<Kernel> make_take_along_axis(const KernelContext& context) {
    return std::make_unique<TakeAlongAxisKernel>(context);
}

std::unique_ptr<Kernel> make_scatter_add_along_axis(const KernelContext& context) {
    if (context.operand(0).type == ValueType::real) {
        return std::make_unique<ScatterAddAlongAxisKernel<float>>(context);
    }
    return std::make_unique<ScatterAddAlongAxisKernel<Int>>(context);
}

}  // namespace cambrian::cpu
