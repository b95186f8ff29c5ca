#pragma once

#include <cstdint>
#include <string>

#include "cambrian/engine/graph/graph.hpp"

// For backends.
namespace cambrian {

/// Writes what became of a graph into a directory: program-<number>.txt with the graph and a
/// summary, program-<number>.plan.txt with the plan, program-<number>.dot for Graphviz. Nothing
/// when the directory is empty. Throws InputError when a file cannot be written.
void write_program_dump(const std::string& directory, std::int64_t number, const Graph& graph,
                        const std::string& summary);

}  // namespace cambrian
