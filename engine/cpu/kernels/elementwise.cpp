#include <array>
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/cpu/execution/lift.hpp"
#include "cambrian/engine/cpu/execution/nest.hpp"

namespace cambrian::cpu {

Loop pick_loop(const LoopSet& rows, const Nest::Strides& strides, std::size_t operands) {
    unsigned mask = 0;
    for (std::size_t view = 0; view < operands; ++view) {
        const std::int64_t stride = strides[view + 1];
        if (stride != 0 && stride != 1) {
            return rows.strided;
        }
        mask |= static_cast<unsigned>(stride) << view;
    }
    return strides[0] == 1 ? rows.contiguous[mask] : rows.strided;
}

namespace {

class ElementwiseKernel : public Kernel {
  public:
    ElementwiseKernel(const KernelContext& context, const LoopSet& rows)
        : nest_(elementwise_nest(context)), views_(context.operands.size() + 1) {
        refs_[0] = context.results[0];
        for (std::size_t i = 0; i < context.operands.size(); ++i) {
            refs_[i + 1] = context.operands[i];
        }
        row_ = pick_loop(rows, nest_.inner().strides, context.operands.size());
    }

    void run(Frame& frame, std::int64_t count) const override {
        Pointers pointers{};
        for (std::size_t view = 0; view < views_; ++view) {
            pointers[view] = frame.at<Word>(refs_[view]);
        }
        for_each_row(nest_, count, frame.team, pointers,
                     [&](const Pointers& at, std::int64_t length) {
                         row_(at, length, nest_.inner().strides);
                     });
    }

  private:
    Nest nest_;
    std::size_t views_;
    std::array<BufferView, Nest::max_views> refs_{};
    Loop row_;
};

}  // namespace

std::unique_ptr<Kernel> make_elementwise(const KernelContext& context, const LoopSet& rows) {
    return std::make_unique<ElementwiseKernel>(context, rows);
}

Nest elementwise_nest(const KernelContext& context) {
    const std::size_t views = context.operands.size() + 1;
    CAMBRIAN_ASSERT(views <= Nest::max_views);
    std::array<NestView, Nest::max_views> all;
    all[0] = {context.result().shape, context.results[0].stride};
    for (std::size_t view = 1; view < views; ++view)
        all[view] = {context.operand(view - 1).shape, context.operands[view - 1].stride};
    return elementwise_nest(std::span(all).first(views), context.per_individual);
}

}  // namespace cambrian::cpu
