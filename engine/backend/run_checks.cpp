#include "cambrian/engine/backend/run_checks.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

bool overlap(const BoundRange& a, const BoundRange& b) {
    // Nothing lies inside an empty range, wherever it is.
    return a.buffer == b.buffer && a.words > 0 && b.words > 0 && a.first < b.first + b.words &&
           b.first < a.first + a.words;
}

}  // namespace

void require_apart(std::span<const BoundRange> inputs, std::span<const BoundRange> outputs,
                   std::span<const Update> updates) {
    for (std::uint32_t o = 0; o < outputs.size(); ++o) {
        for (std::uint32_t other = 0; other < o; ++other)
            CAMBRIAN_ASSERT(!overlap(outputs[o], outputs[other]));
        for (std::uint32_t i = 0; i < inputs.size(); ++i) {
            if (!overlap(outputs[o], inputs[i])) continue;
            const bool replaces = std::ranges::find(updates, Update{i, o}) != updates.end();
            CAMBRIAN_ASSERT(replaces && outputs[o] == inputs[i]);
        }
    }
}

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
