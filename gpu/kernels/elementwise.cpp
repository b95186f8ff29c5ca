#include <array>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/data_checks.hpp"
#include "cambrian/gpu/codegen/word_functions.hpp"
#include "cambrian/gpu/kernels/walk.hpp"

namespace cambrian::gpu {
namespace {

cpu::Nest elementwise_nest(const KernelContext& context) {
    const Shape& shape = context.result().shape;
    const std::size_t views = context.operands.size() + 1;
    CAMBRIAN_ASSERT(views <= cpu::Nest::max_views);
    cpu::Nest::Strides population{context.results[0].stride};
    std::array<std::array<std::int64_t, Shape::max_rank>, cpu::Nest::max_views> strides{};
    strides[0] = row_major_strides(shape);
    for (std::size_t view = 1; view < views; ++view) {
        population[view] = context.operands[view - 1].stride;
        strides[view] = cpu::broadcast_strides(context.operand(view - 1).shape, shape);
    }
    cpu::Nest nest(population, context.per_individual);
    for (std::size_t axis = 0; axis < shape.extents().size(); ++axis)
        nest.add(shape.extents()[axis],
                 {strides[0][axis], strides[1][axis], strides[2][axis], strides[3][axis]});
    return nest;
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
        : walk_(context.owner, context.per_individual, elementwise_nest(context),
                elementwise_views(context), name(context.node.op), function_of(context)) {
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
