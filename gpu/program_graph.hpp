#pragma once

#include <cstdint>

#include "cambrian/gpu/execution/compiled_graph.hpp"

namespace cambrian::gpu {

/// A graph as it is compiled: through the passes that the options and the kernels ask for.
[[nodiscard]] Graph run_passes(const Graph& graph, const Resources& resources);

/// Writes graph, plan and the bytes it needs into the dump directory, if there is one. Throws
/// InputError when a file cannot be written.
void write_dump(const Graph& graph, const CompiledGraph& compiled, const Resources& resources,
                std::int64_t number);

}  // namespace cambrian::gpu
