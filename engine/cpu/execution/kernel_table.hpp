#pragma once

#include <memory>

#include "cambrian/engine/cpu/execution/kernel.hpp"
#include "cambrian/engine/cpu/execution/lift.hpp"

namespace cambrian::cpu {

/// The kernel of a node, from the row of its op. Null for what needs none (inputs, constants).
[[nodiscard]] std::unique_ptr<Kernel> make_kernel(const KernelContext& context);

/// Whether the backend runs an op as it is; any other is replaced by its lowering first. Under
/// strict math a kernel counts only when its bits are those of the lowering.
[[nodiscard]] bool has_kernel(Op op, Math math);

/// The loops of an elementwise node by the types of its operands; null for any other op.
[[nodiscard]] const LoopSet* rows_of(const Graph& graph, const Node& node);
/// Loops that copy words.
[[nodiscard]] const LoopSet& copy_rows();

// Kernels that are more than a lifted scalar function, one factory each.
std::unique_ptr<Kernel> make_iota(const KernelContext& context);
std::unique_ptr<Kernel> make_random(const KernelContext& context);
std::unique_ptr<Kernel> make_reduce_sum(const KernelContext& context);
std::unique_ptr<Kernel> make_reduce_max(const KernelContext& context);
std::unique_ptr<Kernel> make_argmax(const KernelContext& context);
std::unique_ptr<Kernel> make_reshape(const KernelContext& context);
std::unique_ptr<Kernel> make_permute(const KernelContext& context);
std::unique_ptr<Kernel> make_broadcast(const KernelContext& context);
std::unique_ptr<Kernel> make_slice(const KernelContext& context);
std::unique_ptr<Kernel> make_pad(const KernelContext& context);
std::unique_ptr<Kernel> make_concat(const KernelContext& context);
std::unique_ptr<Kernel> make_matmul(const KernelContext& context);
std::unique_ptr<Kernel> make_unpack(const KernelContext& context);
std::unique_ptr<Kernel> make_packed_matmul(const KernelContext& context);
std::unique_ptr<Kernel> make_gather(const KernelContext& context);
std::unique_ptr<Kernel> make_scatter_add(const KernelContext& context);
std::unique_ptr<Kernel> make_im2col(const KernelContext& context);
std::unique_ptr<Kernel> make_col2im(const KernelContext& context);
std::unique_ptr<Kernel> make_conv(const KernelContext& context);
std::unique_ptr<Kernel> make_cumsum(const KernelContext& context);
std::unique_ptr<Kernel> make_sort(const KernelContext& context);
std::unique_ptr<Kernel> make_topk(const KernelContext& context);
std::unique_ptr<Kernel> make_flip(const KernelContext& context);
std::unique_ptr<Kernel> make_take_along_axis(const KernelContext& context);
std::unique_ptr<Kernel> make_scatter_add_along_axis(const KernelContext& context);
std::unique_ptr<Kernel> make_scan(const KernelContext& context);
std::unique_ptr<Kernel> make_interpret(const KernelContext& context);
std::unique_ptr<Kernel> make_encode(const KernelContext& context);
std::unique_ptr<Kernel> make_decode(const KernelContext& context);
std::unique_ptr<Kernel> make_activate(const KernelContext& context);
std::unique_ptr<Kernel> make_fused(const KernelContext& context);
std::unique_ptr<Kernel> make_attention(const KernelContext& context);
std::unique_ptr<Kernel> make_attention_gradient(const KernelContext& context);
std::unique_ptr<Kernel> make_cached_attention(const KernelContext& context);
std::unique_ptr<Kernel> make_put_row(const KernelContext& context);
std::unique_ptr<Kernel> make_selective_scan(const KernelContext& context);
std::unique_ptr<Kernel> make_selective_scan_gradient(const KernelContext& context);

}  // namespace cambrian::cpu
