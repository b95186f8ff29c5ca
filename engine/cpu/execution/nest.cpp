#include "cambrian/engine/cpu/execution/nest.hpp"

#include <array>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::cpu {

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
