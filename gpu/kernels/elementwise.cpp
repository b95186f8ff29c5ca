#include <vector>

#include "cambrian/engine/graph/graph_errors.hpp"
#include "cambrian/gpu/codegen/fused/expressions.hpp"
#include "cambrian/gpu/execution/walk.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"

namespace cambrian::gpu {
namespace {

Nest nest_of(const KernelContext& context) {
    std::vector<NestView> views{{context.result().shape, context.results[0].stride}};
    for (std::size_t i = 0; i < context.operands.size(); ++i)
        views.push_back({context.operand(i).shape, context.operands[i].stride});
    return elementwise_nest(views, context.per_individual);
}

std::vector<Walk::View> elementwise_views(const KernelContext& context) {
    std::vector<Walk::View> views{{context.results[0], context.result().shape.elements()}};
    for (std::size_t i = 0; i < context.operands.size(); ++i)
        views.push_back({context.operands[i], context.operand(i).shape.elements()});
    return views;
}

WordFunction function_of(const KernelContext& context) {
    std::vector<ValueType> types;
    for (std::size_t i = 0; i < context.operands.size(); ++i)
        types.push_back(context.operand(i).type);
    return word_function(context.node.op, types, context.result().type);
}

class ElementwiseKernel : public Kernel {
  public:
    explicit ElementwiseKernel(const KernelContext& context)
        : walk_(context.owner, context.per_individual, nest_of(context), elementwise_views(context),
                name(context.node.op), function_of(context)) {
        if (may_divide_by_zero(context.graph, context.node))
            divisors_ = make_divisor_check(context);
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        if (divisors_ && !walk_.empty()) divisors_->record(recorder, frame);
        walk_.record(recorder, frame);
    }

  private:
    std::unique_ptr<Kernel> divisors_;  ///< Looks for zeros where there may be any.
    Walk walk_;
};

}  // namespace

std::unique_ptr<Kernel> make_elementwise(const KernelContext& context) {
    return std::make_unique<ElementwiseKernel>(context);
}

}  // namespace cambrian::gpu
