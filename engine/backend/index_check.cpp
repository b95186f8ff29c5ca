#include "cambrian/engine/backend/index_check.hpp"

#include <fmt/format.h>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

std::string index_message(Op op, std::int64_t index, std::int64_t rows) {
    const std::string advice =
        rows == 0 ? "pass no indices" : fmt::format("use indices from 0 to {}", rows - 1);
    return fmt::format("index {} is out of range ({} over {} rows) {}", index, name(op), rows,
                       advice);
}

void fail_index(Op op, std::int64_t index, std::int64_t rows) {
    throw InputError(index_message(op, index, rows));
}

}  // namespace cambrian
