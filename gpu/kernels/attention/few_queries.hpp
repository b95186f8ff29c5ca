#pragma once

#include <cstdint>
#include <memory>

#include "cambrian/gpu/execution/kernel.hpp"
#include "cambrian/gpu/kernels/attention/operands.hpp"

namespace cambrian::gpu {

/// Whether an attention has so few queries for each key head that its keys are cut into parts,
/// which workgroups work on beside each other: a step of generation has one for each query head.
[[nodiscard]] bool has_few_queries(const AttentionSizes& sizes);

/// The kernel for it, and for any number of queries (shaders/attention/attention_few_queries.comp,
/// and attention_merge.comp where there is more than one part). The parts depend on the shapes of
/// an individual alone.
/// @param views without partial states: the kernel keeps those.
[[nodiscard]] std::unique_ptr<Kernel> make_few_queries(const KernelContext& context,
                                                       const AttentionSizes& sizes,
                                                       const AttentionOperands::Scores& scores,
                                                       AttentionOperands::Views views,
                                                       const AttentionOperands::Counts& counts);

}  // namespace cambrian::gpu
