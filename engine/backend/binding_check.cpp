#include "cambrian/engine/backend/binding_check.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"

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

}  // namespace cambrian
