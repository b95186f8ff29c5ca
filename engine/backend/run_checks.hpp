#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cambrian/engine/backend/backend.hpp"
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

}  // namespace cambrian
