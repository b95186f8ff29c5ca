#include "cambrian/gpu/kernels/compiled_graph.hpp"
#include "cambrian/gpu/kernels/order/axis_sort.hpp"

namespace cambrian::gpu {
namespace {

class SortStep : public Step {
  public:
    SortStep(const Site& site, int axis, bool descending)
        : sort_(site.owner, {.per_individual = site.per_individual,
                             .split = {site.operand().shape, axis},
                             .count = site.result().shape[axis],
                             .type = site.operand().type,
                             .descending = descending,
                             .operand = site.operands[0],
                             .sorted = site.results[0],
                             .indices = site.results[1]}) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        sort_.record(recorder, frame);
    }

  private:
    AxisSort sort_;
};

}  // namespace

std::unique_ptr<Step> make_sort(const Site& site) {
    const auto& sort = site.attribute<SortAttribute>();
    return std::make_unique<SortStep>(site, sort.axis, sort.descending);
}

std::unique_ptr<Step> make_topk(const Site& site) {
    return std::make_unique<SortStep>(site, site.attribute<TopkAttribute>().axis, true);
}

}  // namespace cambrian::gpu
