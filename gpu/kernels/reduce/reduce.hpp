#pragma once

#include <memory>

#include "cambrian/gpu/kernels/compiled_graph.hpp"
#include "cambrian/gpu/kernels/step.hpp"

namespace cambrian::gpu {

/// Sums of the columns of a real matrix [length, columns]; without rows they are zeros.
struct ColumnSums {
    Place operand;
    Place result;
    std::int64_t length = 0;
    std::int64_t columns = 0;
};
/// A part of a step whose kernel stores what is to be added up. The order of a sum depends on the
/// shape alone.
[[nodiscard]] std::unique_ptr<Step> make_column_sums(CompiledGraph& owner, bool per_individual,
                                                     const ColumnSums& sums);

}  // namespace cambrian::gpu
