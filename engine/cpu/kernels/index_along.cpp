#include <algorithm>

#include "cambrian/engine/backend/index_check.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/kernels/add.hpp"
#include "cambrian/engine/tensor/split.hpp"

namespace cambrian::cpu {

namespace {

using Int = std::int32_t;

/// Elements of an axis by index: `indexed` is the tensor that the indices point into, with one
/// index for each element of the other tensor.
class AlongStep : public Step {
  public:
    AlongStep(const Site& site, const Shape& indexed, int axis)
        : operand_(site.operands[0]),
          indices_(site.operands[1]),
          result_(site.results[0]),
          op_(site.node.op),
          indexed_(indexed, axis),
          own_(site.operand(1).shape, axis) {}

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

    Ref operand_, indices_, result_;
    Op op_;
    Split indexed_, own_;

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

class GatherAlongStep : public AlongStep {
  public:
    explicit GatherAlongStep(const Site& site)
        : AlongStep(site, site.operand(0).shape, site.attribute<AxisAttribute>().axis) {}

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
class ScatterAddAlongStep : public AlongStep {
  public:
    explicit ScatterAddAlongStep(const Site& site)
        : AlongStep(site, site.result().shape, site.attribute<ScatterAlongAttribute>().axis) {}

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

std::unique_ptr<Step> make_gather_along(const Site& site) {
    return std::make_unique<GatherAlongStep>(site);
}

std::unique_ptr<Step> make_scatter_add_along(const Site& site) {
    if (site.operand(0).type == ValueType::real) {
        return std::make_unique<ScatterAddAlongStep<float>>(site);
    }
    return std::make_unique<ScatterAddAlongStep<Int>>(site);
}

}  // namespace cambrian::cpu
