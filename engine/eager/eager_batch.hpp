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

/// Throws ShapeError for elements that are not those of the type, or not as many as the shape has.
void check_elements(const Tensor& value);

/// Gives these values their buffers: the records they depend on run as one program, divided where a
/// function of the host stands between them. Internal to engine/eager.
void compute_batch(const BatchTools& tools, std::span<const std::shared_ptr<EagerValue>> values);

}  // namespace cambrian
