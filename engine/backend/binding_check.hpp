#pragma once

#include <cstdint>
#include <span>

#include "cambrian/engine/backend/backend.hpp"

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

}  // namespace cambrian
