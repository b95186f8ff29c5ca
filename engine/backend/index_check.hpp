#pragma once

#include <cstdint>
#include <string>

#include "cambrian/engine/graph/op.hpp"

namespace cambrian {

/// What every backend says of an index that an op cannot use: rows are counted from 0.
[[nodiscard]] std::string index_message(Op op, std::int64_t index, std::int64_t rows);
/// Throws InputError with that message.
[[noreturn]] void fail_index(Op op, std::int64_t index, std::int64_t rows);

/// Throws InputError unless the index lies in [0, rows).
inline void check_index(Op op, std::int64_t index, std::int64_t rows) {
    if (index < 0 || index >= rows) fail_index(op, index, rows);
}

}  // namespace cambrian
