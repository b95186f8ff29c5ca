#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/kernels/scan/row_kernel.hpp"
#include "cambrian/gpu/kernels/scan/scan_steps.hpp"

namespace cambrian::gpu {

std::unique_ptr<Kernel> make_scan(const KernelContext& context) {
    if (!context.owner.resources().fuse) return make_scan_steps(context);
    const ScanAttribute scan = lower_row_body(context.attribute<ScanAttribute>());
    const RowAnalysis analysis = analyse_rows(scan, {});
    if (!analysis.obstacle.empty()) return make_scan_steps(context);
    return make_row_step(scan, analysis,
                         {context.operands, context.results, context.per_individual}, context.owner,
                         "scan_rows");
}

}  // namespace cambrian::gpu
