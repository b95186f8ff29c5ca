#pragma once

#include <cstdint>
#include <memory>

#include "cambrian/gpu/execution/kernel.hpp"
#include "cambrian/gpu/kernels/attention/operands.hpp"

namespace cambrian::gpu {

/// Whether an attention has one query a head, few for each key head, and rows that the kernel below
/// gets through: tiles of queries would be all but empty.
[[nodiscard]] bool has_few_queries(const AttentionSizes& sizes, const Resources& resources);

/// Cuts the keys into parts, which workgroups work on beside each other, for any number of queries
/// (shaders/attention/attention_few_queries.comp, and attention_merge.comp where there is more than
/// one part). The parts depend on the shapes of an individual alone.
/// @throws DeviceError if an invocation would walk for longer than the device lets it.
/// @param views without partial states: the kernel keeps those.
[[nodiscard]] std::unique_ptr<Kernel> make_few_queries(const KernelContext& context,
                                                       const AttentionSizes& sizes,
                                                       const AttentionOperands::Scores& scores,
                                                       AttentionOperands::Views views,
                                                       const AttentionOperands::Counts& counts);

}  // namespace cambrian::gpu
