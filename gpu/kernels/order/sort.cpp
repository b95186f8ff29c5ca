#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/kernels/order/axis_sort.hpp"

namespace cambrian::gpu {
namespace {

class SortKernel : public Kernel {
  public:
    SortKernel(const KernelContext& context, int axis, bool descending)
        : sort_(context.owner, {.per_individual = context.per_individual,
                                .split = {context.operand().shape, axis},
                                .count = context.result().shape[axis],
                                .type = context.operand().type,
                                .descending = descending,
                                .operand = context.operands[0],
                                .sorted = context.results[0],
                                .indices = context.results[1]}) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        sort_.record(recorder, frame);
    }

  private:
    AxisSort sort_;
};

}  // namespace

std::unique_ptr<Kernel> make_sort(const KernelContext& context) {
    const auto& sort = context.attribute<SortAttribute>();
    return std::make_unique<SortKernel>(context, sort.axis, sort.descending);
}

std::unique_ptr<Kernel> make_topk(const KernelContext& context) {
    return std::make_unique<SortKernel>(context, context.attribute<TopkAttribute>().axis, true);
}

}  // namespace cambrian::gpu
