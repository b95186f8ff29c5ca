#include "cambrian/gpu/program_graph.hpp"

#include <fmt/core.h>

#include <fstream>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/passes.hpp"

namespace cambrian::gpu {

Graph run_passes(const Graph& graph, const Resources& resources) {
    // Reductions of a chain are trees; under strict math only what the rules below allow is fused.
    const bool strict = resources.math == Math::strict;
    Graph result =
        lower(graph, [strict](Op op) { return has_kernel(op) && !(strict && op == Op::chain); });
    if (resources.fuse) {
        result = fuse_linear(result);
        result = fuse_chains(result, {.reductions = !strict});
    }
    result = eliminate_dead_code(result);
    verify(result);
    return result;
}

void write_dump(const Graph& graph, const CompiledGraph& compiled, const Resources& resources,
                std::int64_t number) {
    if (resources.dump_directory.empty()) {
        return;
    }
    const std::string path = fmt::format("{}/program-{}.txt", resources.dump_directory, number);
    std::ofstream file(path);
    file << dump(graph)
         << fmt::format("\n{} bytes of temporaries for all, {} for each individual\n",
                        compiled.fixed_words() * static_cast<std::int64_t>(word_bytes),
                        compiled.words_per_individual() * static_cast<std::int64_t>(word_bytes));
    if (!file) {
        throw InputError(
            "cannot write " + path +
            " (the system refused it) name a directory that exists and can be written");
    }
}

}  // namespace cambrian::gpu
