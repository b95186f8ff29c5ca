#include <array>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/data_checks.hpp"
#include "cambrian/gpu/codegen/word_functions.hpp"
#include "cambrian/gpu/kernels/walk.hpp"

namespace cambrian::gpu {
namespace {

cpu::Nest elementwise_nest(const Site& site) {
    const Shape& shape = site.result().shape;
    const std::size_t views = site.operands.size() + 1;
    CAMBRIAN_ASSERT(views <= cpu::Nest::max_views);
    cpu::Nest::Strides population{site.results[0].stride};
    std::array<std::array<std::int64_t, Shape::max_rank>, cpu::Nest::max_views> strides{};
    strides[0] = row_major_strides(shape);
    for (std::size_t view = 1; view < views; ++view) {
        population[view] = site.operands[view - 1].stride;
        strides[view] = cpu::broadcast_strides(site.operand(view - 1).shape, shape);
    }
    cpu::Nest nest(population, site.per_individual);
    for (std::size_t axis = 0; axis < shape.extents().size(); ++axis)
        nest.add(shape.extents()[axis],
                 {strides[0][axis], strides[1][axis], strides[2][axis], strides[3][axis]});
    return nest;
}

std::vector<Walk::View> elementwise_views(const Site& site) {
    std::vector<Walk::View> views{{site.results[0], site.result().shape.elements()}};
    for (std::size_t i = 0; i < site.operands.size(); ++i)
        views.push_back({site.operands[i], site.operand(i).shape.elements()});
    return views;
}

WordFunction function_of(const Site& site) {
    std::vector<ValueType> types;
    for (std::size_t i = 0; i < site.operands.size(); ++i) types.push_back(site.operand(i).type);
    return word_function(site.node.op, types, site.result().type);
}

class ElementwiseStep : public Step {
  public:
    explicit ElementwiseStep(const Site& site)
        : walk_(site.owner, site.per_individual, elementwise_nest(site), elementwise_views(site),
                name(site.node.op), function_of(site)) {
        if (may_divide_by_zero(site.graph, site.node)) divisors_ = make_divisor_check(site);
    }

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        if (divisors_ && !walk_.empty()) divisors_->record(recorder, frame);
        walk_.record(recorder, frame);
    }

  private:
    std::unique_ptr<Step> divisors_;  ///< Looks for zeros where there may be any.
    Walk walk_;
};

}  // namespace

std::unique_ptr<Step> make_elementwise(const Site& site) {
    return std::make_unique<ElementwiseStep>(site);
}

}  // namespace cambrian::gpu
