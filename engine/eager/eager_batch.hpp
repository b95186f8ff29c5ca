#pragma once

#include <memory>
#include <span>

#include "cambrian/engine/eager/batch_programs.hpp"
#include "cambrian/engine/eager/buffer_pool.hpp"
#include "cambrian/engine/eager/record.hpp"

namespace cambrian {

/// What computes a batch.
struct BatchTools {
    Backend& backend;
    BufferPool& pool;
    BatchPrograms& programs;
    EagerStatistics& counts;
};

/// Gives these values their buffers: the records they depend on run as one program, divided where a
/// function of the host stands between them. Internal to engine/eager.
void compute_batch(const BatchTools& tools, std::span<const std::shared_ptr<EagerValue>> values);

}  // namespace cambrian
