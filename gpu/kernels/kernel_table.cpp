#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/kernel.hpp"
#include "cambrian/gpu/kernels/kernel_table.hpp"
#include "cambrian/gpu/vulkan/recorder.hpp"

namespace cambrian::gpu {

namespace {

struct KernelRow {
    Op op = Op::count_;
    bool present = false;
    KernelFactory make = nullptr;  ///< Null: inputs and constants are placed, not computed.
    bool only_fast = false;        ///< Not the bits of the lowering, which strict math takes.
};

/// Says in a profile whose the dispatches are.
class NamedKernel final : public Kernel {
  public:
    NamedKernel(std::unique_ptr<Kernel> kernel, std::string op)
        : kernel_(std::move(kernel)), op_(std::move(op)) {}

    void record(vulkan::Recorder& recorder, const Frame& frame) const override {
        const std::string_view before = recorder.name_op(op_);
        kernel_->record(recorder, frame);
        recorder.name_op(before);
    }

  private:
    std::unique_ptr<Kernel> kernel_;
    std::string op_;
};

constexpr KernelRow placed(Op op) {
    return {op, true, nullptr};
}

constexpr KernelRow kernel(Op op, KernelFactory make) {
    return {op, true, make};
}

/// For a fused op whose kernel sums in an order of its own.
constexpr KernelRow fast(Op op, KernelFactory make) {
    return {op, true, make, true};
}

/// Replaced by its lowering before a graph is compiled.
constexpr KernelRow lowered(Op op) {
    return {op, false, nullptr};
}

/// Of the ops that are not elementwise, in any order.
constexpr std::array own_rows{
    placed(Op::input),
    placed(Op::constant),
    kernel(Op::iota, make_iota),
    kernel(Op::random, make_random),
    kernel(Op::reduce_sum, make_reduce),
    kernel(Op::reduce_max, make_reduce),
    kernel(Op::argmax, make_reduce),
    kernel(Op::cumsum, make_cumsum),
    kernel(Op::sort, make_sort),
    kernel(Op::reshape, make_copy),
    kernel(Op::permute, make_copy),
    kernel(Op::broadcast, make_copy),
    kernel(Op::slice, make_copy),
    kernel(Op::pad, make_pad),
    kernel(Op::concat, make_concat),
    kernel(Op::flip, make_flip),
    kernel(Op::im2col, make_im2col),
    kernel(Op::col2im, make_im2col),
    kernel(Op::encode, make_encode),
    kernel(Op::decode, make_decode),
    kernel(Op::unpack, make_unpack),
    kernel(Op::matmul, make_matmul),
    kernel(Op::gather, make_gather),
    kernel(Op::scatter_add, make_scatter_add),
    kernel(Op::take_along_axis, make_take_along_axis),
    kernel(Op::scatter_add_along_axis, make_scatter_add_along_axis),
    kernel(Op::scan, make_scan),
    kernel(Op::interpret, make_interpret),
    kernel(Op::matmul_epilogue, make_matmul),
    kernel(Op::packed_matmul, make_packed_matmul),
    fast(Op::fused, make_fused),
    kernel(Op::topk, make_topk),
    lowered(Op::conv),
    fast(Op::attention, make_attention),
    fast(Op::attention_gradient, make_attention_gradient),
    fast(Op::cached_attention, make_cached_attention),
    kernel(Op::put_row, make_put_row),
    kernel(Op::selective_scan, make_selective_scan),
    fast(Op::selective_scan_gradient, make_selective_scan_gradient),
};

constexpr std::array<KernelRow, op_count> all_rows() {
    std::array<KernelRow, op_count> rows{};
    for (std::size_t i = 0; i < op_count; ++i)
        if (is_elementwise(static_cast<Op>(i)))
            rows[i] = kernel(static_cast<Op>(i), make_elementwise);
    for (const KernelRow& row : own_rows) rows[static_cast<std::size_t>(row.op)] = row;
    return rows;
}
constexpr std::array<KernelRow, op_count> kernel_rows = all_rows();

static_assert(std::ranges::find(kernel_rows, Op::count_, &KernelRow::op) == kernel_rows.end(),
              "an op has no row");

}  // namespace

bool has_kernel(Op op, Math math) {
    const KernelRow& row = kernel_rows[static_cast<std::size_t>(op)];
    return row.present && !(row.only_fast && math == Math::strict);
}

std::unique_ptr<Kernel> make_kernel(const KernelContext& context) {
    const KernelRow& row = kernel_rows[static_cast<std::size_t>(context.node.op)];
    if (row.make == nullptr) return nullptr;
    std::unique_ptr<Kernel> kernel = row.make(context);
    if (kernel == nullptr || context.owner.resources().device.profile() == nullptr) return kernel;
    return std::make_unique<NamedKernel>(
        std::move(kernel),
        std::string(name(context.node.op)) + " " + context.result().shape.text());
}

}  // namespace cambrian::gpu
