#pragma once

#include <cstdint>

#include "cambrian/gpu/kernels/compiled_graph.hpp"

namespace cambrian::gpu {

/// A graph as it is compiled: lowered where there is no kernel, fused where the options allow it,
/// without dead nodes, verified.
[[nodiscard]] Graph run_passes(const Graph& graph, const Resources& resources);

/// Writes the graph and the bytes it needs as program-<number>.txt into the dump directory, if
/// there is one. Throws InputError when the file cannot be written.
void write_dump(const Graph& graph, const CompiledGraph& compiled, const Resources& resources,
                std::int64_t number);

}  // namespace cambrian::gpu
