#include "cambrian/gpu/codegen/rows/launch.hpp"
#include "cambrian/gpu/kernels/compiled_graph.hpp"
#include "cambrian/gpu/kernels/scan/scan_steps.hpp"

namespace cambrian::gpu {

std::unique_ptr<Step> make_scan(const Site& site) {
    if (!site.owner.resources().fuse) return make_scan_steps(site);
    const ScanAttribute scan = lower_row_body(site.attribute<ScanAttribute>());
    const RowAnalysis analysis = analyse_rows(scan, {});
    if (!analysis.obstacle.empty()) return make_scan_steps(site);
    return make_row_step(scan, analysis, {site.operands, site.results, site.per_individual},
                         site.owner, "scan_rows");
}

}  // namespace cambrian::gpu
