#include "cambrian/gpu/program.hpp"

#include <fmt/core.h>

#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"

namespace cambrian::gpu {

Graph run_passes(const Graph& graph, const Resources& resources) {
    // Reductions of a fusion group are trees; under strict math only what the rules below allow is
    // fused.
    const bool strict = resources.math == Math::strict;
    OptimizeOptions options;
    options.has_kernel = [&](Op op) { return has_kernel(op, resources.math); };
    options.evaluate = evaluate_node;
    options.fuse_matmul_epilogue = resources.fuse;
    if (resources.fuse)
        options.multiplies_codes = [&](NumberFormat format) {
            return multiplies_codes(format, resources);
        };
    if (resources.fuse) options.groups = FusionRules{.reductions = !strict};
    // One individual at least has to fit.
    options.max_bytes_per_individual = resources.heap.limit();
    return optimize(graph, options);
}

void write_dump(const Graph& graph, const CompiledGraph& compiled, const Resources& resources,
                std::int64_t number) {
    write_program_dump(
        resources.dump_directory, number, graph,
        fmt::format("{} bytes of temporaries for all, {} for each individual",
                    compiled.fixed_words() * static_cast<std::int64_t>(word_bytes),
                    compiled.words_per_individual() * static_cast<std::int64_t>(word_bytes)));
}

}  // namespace cambrian::gpu
