#pragma once

#include <memory>

#include "cambrian/engine/tensor/nest.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/kernel.hpp"

// The factories that rows of the kernel table name.
namespace cambrian::gpu {

using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelContext& context);

std::unique_ptr<Kernel> make_elementwise(const KernelContext& context);
std::unique_ptr<Kernel> make_iota(const KernelContext& context);
std::unique_ptr<Kernel> make_random(const KernelContext& context);
std::unique_ptr<Kernel> make_encode(const KernelContext& context);
std::unique_ptr<Kernel> make_decode(const KernelContext& context);
/// Reports an integer divisor of zero, the second operand of div; part of make_elementwise.
std::unique_ptr<Kernel> make_divisor_check(const KernelContext& context);

/// reshape, permute, broadcast and slice.
std::unique_ptr<Kernel> make_copy(const KernelContext& context);
std::unique_ptr<Kernel> make_pad(const KernelContext& context);
std::unique_ptr<Kernel> make_concat(const KernelContext& context);
/// im2col and col2im.
std::unique_ptr<Kernel> make_im2col(const KernelContext& context);

/// matmul and matmul_epilogue.
std::unique_ptr<Kernel> make_matmul(const KernelContext& context);
/// Of matrices in codes.
std::unique_ptr<Kernel> make_unpack(const KernelContext& context);
std::unique_ptr<Kernel> make_packed_matmul(const KernelContext& context);
/// matmul_epilogue of codes; part of make_matmul.
std::unique_ptr<Kernel> make_cooperative_matmul(const KernelContext& context);
std::unique_ptr<Kernel> make_attention(const KernelContext& context);
std::unique_ptr<Kernel> make_attention_gradient(const KernelContext& context);
std::unique_ptr<Kernel> make_cached_attention(const KernelContext& context);
std::unique_ptr<Kernel> make_put_row(const KernelContext& context);

/// reduce_sum, reduce_max and argmax.
std::unique_ptr<Kernel> make_reduce(const KernelContext& context);
std::unique_ptr<Kernel> make_cumsum(const KernelContext& context);
std::unique_ptr<Kernel> make_sort(const KernelContext& context);
std::unique_ptr<Kernel> make_topk(const KernelContext& context);

std::unique_ptr<Kernel> make_gather(const KernelContext& context);
std::unique_ptr<Kernel> make_scatter_add(const KernelContext& context);
std::unique_ptr<Kernel> make_flip(const KernelContext& context);
std::unique_ptr<Kernel> make_take_along_axis(const KernelContext& context);
std::unique_ptr<Kernel> make_scatter_add_along_axis(const KernelContext& context);

/// With or without reductions along rows.
std::unique_ptr<Kernel> make_fused(const KernelContext& context);
/// One kernel for all steps where every row goes its own way (scan/row_kernel.hpp), else the body's
/// kernels recorded again and again.
std::unique_ptr<Kernel> make_scan(const KernelContext& context);
std::unique_ptr<Kernel> make_interpret(const KernelContext& context);
std::unique_ptr<Kernel> make_selective_scan(const KernelContext& context);
std::unique_ptr<Kernel> make_selective_scan_gradient(const KernelContext& context);

/// A copy from the node's operand to its result over a nest (views: result, operand) whose inner
/// axes differ: through tiles in shared memory. Null where the nest is no such copy, or too thin
/// for tiles.
[[nodiscard]] std::unique_ptr<Kernel> make_transpose(const KernelContext& context,
                                                     const Nest& nest);

/// The kernel of a fusion group that reduces rows, which needs fast math: one workgroup for each
/// row, or for several short ones.
[[nodiscard]] std::unique_ptr<Kernel> make_fused_rows(const KernelContext& context);

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
