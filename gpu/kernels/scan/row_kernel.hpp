#pragma once

#include <memory>
#include <span>
#include <string>

#include "cambrian/gpu/codegen/rows/row_source.hpp"
#include "cambrian/gpu/execution/kernel.hpp"

namespace cambrian::gpu {

/// The values that a scan reads and writes, where they lie: as in a scan node.
struct RowViews {
    std::span<const BufferView> operands;
    std::span<const BufferView> results;
    bool per_individual = false;  ///< Whether any result is.
};

/// Runs a scan as one row kernel: one dispatch, or several of a fixed number of steps
/// each where one would run for too long. Contract: the analysis found no obstacle; the body has no
/// matmul_epilogue and no fusion group.
[[nodiscard]] std::unique_ptr<Kernel> make_row_kernel(const ScanAttribute& scan,
                                                      const RowAnalysis& analysis,
                                                      const RowViews& views, CompiledGraph& owner,
                                                      const std::string& kernel_name);

}  // namespace cambrian::gpu
