#pragma once

#include <cstddef>
#include <cstdint>

namespace cambrian {

struct EagerOptions {
    /// Operations that may wait; one more runs all of them. At least 1.
    std::size_t max_pending = 4096;
    /// Compiled batches that are kept, the least recently used given up first. At least 1.
    std::size_t max_programs = 64;
    /// Bytes of buffers that nothing uses any more and that are kept for what is allocated next.
    std::int64_t max_pooled_bytes = std::int64_t{256} << 20;
};

/// What a session did and holds.
struct EagerStatistics {
    std::int64_t recorded = 0;  ///< Operations so far.
    std::int64_t pending = 0;   ///< Of them not computed yet and still wanted.
    std::int64_t batches = 0;   ///< Programs run: one submission to a device each.
    std::int64_t host_calls = 0;
    std::int64_t program_hits = 0;  ///< Batches that were compiled before.
    std::int64_t program_misses = 0;
    std::int64_t buffer_hits = 0;    ///< Buffers that came from the pool,
    std::int64_t buffer_misses = 0;  ///< and those the backend was asked for.
    std::int64_t live_bytes = 0;     ///< Of buffers that tensors hold.
    std::int64_t pooled_bytes = 0;   ///< Of buffers that wait for the next tensor.
    std::int64_t peak_bytes =
        0;  ///< The largest sum of both and the temporaries of a batch so far.
};

}  // namespace cambrian
