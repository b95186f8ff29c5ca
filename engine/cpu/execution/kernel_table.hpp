#pragma once

#include <memory>

#include "cambrian/engine/cpu/execution/lift.hpp"
#include "cambrian/engine/cpu/execution/step.hpp"

namespace cambrian::cpu {

/// The step of a node, from the row of its op. Null for what needs none (inputs, constants).
[[nodiscard]] std::unique_ptr<Step> make_step(const Site& site);

/// Whether the backend runs an op as it is; any other is replaced by its lowering first. Under
/// strict math a kernel counts only when its bits are those of the lowering.
[[nodiscard]] bool has_kernel(Op op, Math math);

/// The loops of an elementwise node by the types of its operands; null for any other op.
[[nodiscard]] const RowSet* rows_of(const Graph& graph, const Node& node);
/// Loops that copy words.
[[nodiscard]] const RowSet& copy_rows();

// Kernels that are more than a lifted scalar function, one factory each.
std::unique_ptr<Step> make_iota(const Site& site);
std::unique_ptr<Step> make_random(const Site& site);
std::unique_ptr<Step> make_reduce_sum(const Site& site);
std::unique_ptr<Step> make_reduce_max(const Site& site);
std::unique_ptr<Step> make_argmax(const Site& site);
std::unique_ptr<Step> make_reshape(const Site& site);
std::unique_ptr<Step> make_permute(const Site& site);
std::unique_ptr<Step> make_broadcast(const Site& site);
std::unique_ptr<Step> make_slice(const Site& site);
std::unique_ptr<Step> make_pad(const Site& site);
std::unique_ptr<Step> make_concat(const Site& site);
std::unique_ptr<Step> make_matmul(const Site& site);
std::unique_ptr<Step> make_gather(const Site& site);
std::unique_ptr<Step> make_scatter_add(const Site& site);
std::unique_ptr<Step> make_patches(const Site& site);
std::unique_ptr<Step> make_patches_add(const Site& site);
std::unique_ptr<Step> make_conv(const Site& site);
std::unique_ptr<Step> make_cumsum(const Site& site);
std::unique_ptr<Step> make_sort(const Site& site);
std::unique_ptr<Step> make_topk(const Site& site);
std::unique_ptr<Step> make_flip(const Site& site);
std::unique_ptr<Step> make_gather_along(const Site& site);
std::unique_ptr<Step> make_scatter_add_along(const Site& site);
std::unique_ptr<Step> make_scan(const Site& site);
std::unique_ptr<Step> make_interpret(const Site& site);
std::unique_ptr<Step> make_encode(const Site& site);
std::unique_ptr<Step> make_decode(const Site& site);
std::unique_ptr<Step> make_activate(const Site& site);
std::unique_ptr<Step> make_chain(const Site& site);
std::unique_ptr<Step> make_attention(const Site& site);
std::unique_ptr<Step> make_attention_gradient(const Site& site);
std::unique_ptr<Step> make_selective_scan(const Site& site);
std::unique_ptr<Step> make_selective_scan_gradient(const Site& site);

}  // namespace cambrian::cpu
