#pragma once

#include <memory>

#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

/// Sums of the columns of a real matrix [length, columns]; without rows they are zeros.
struct ColumnSums {
    BufferView operand;
    BufferView result;
    std::int64_t length = 0;
    std::int64_t columns = 0;
};
/// A part of a kernel that stores what is to be added up. The order of a sum depends on the
/// shape alone.
[[nodiscard]] std::unique_ptr<Kernel> make_column_sums(CompiledGraph& owner, bool per_individual,
                                                       const ColumnSums& sums);

}  // namespace cambrian::gpu
