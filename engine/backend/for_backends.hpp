#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <string>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/engine/graph/op.hpp"

// For backends.
namespace cambrian {

/// What a run reads or writes of a buffer.
struct BoundRange {
    const Buffer* buffer = nullptr;
    std::int64_t first = 0;
    std::int64_t words = 0;
    bool operator==(const BoundRange&) const = default;
};

/// Contract: no output overlaps another output or an input, but for one that replaces an input and
/// lies exactly there.
void require_apart(std::span<const BoundRange> inputs, std::span<const BoundRange> outputs,
                   std::span<const Update> updates);

/// What every backend says of an index that an op cannot use: rows are counted from 0.
[[nodiscard]] std::string index_message(Op op, std::int64_t index, std::int64_t rows);
/// Throws InputError with that message.
[[noreturn]] void fail_index(Op op, std::int64_t index, std::int64_t rows);

/// Throws InputError unless the index lies in [0, rows).
inline void check_index(Op op, std::int64_t index, std::int64_t rows) {
    if (index < 0 || index >= rows) fail_index(op, index, rows);
}

/// What `action` returns. Where there is no memory for it, it is tried once more after `trim`, and
/// may be tried again because what failed has left nothing. Throws OutOfMemoryError when
/// there is none then either.
template <class Action, class Trim>
decltype(auto) retry_once(const Action& action, const Trim& trim) {
    try {
        return action();
    } catch (const OutOfMemoryError&) {
        trim();
    } catch (const std::bad_alloc&) {
        trim();
    }
    try {
        return action();
    } catch (const std::bad_alloc&) {
        throw OutOfMemoryError(
            "the host is out of memory (the system refused a small allocation) evaluate fewer "
            "individuals at once or let fewer ranks share the host");
    }
}

/// Writes what became of a graph into a directory: program-<number>.txt with the graph and a
/// summary, program-<number>.plan.txt with the plan, program-<number>.dot for Graphviz. Nothing
/// when the directory is empty. Throws InputError when a file cannot be written.
void write_program_dump(const std::string& directory, std::int64_t number, const Graph& graph,
                        const std::string& summary);

}  // namespace cambrian
