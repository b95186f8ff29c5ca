#pragma once

#include <string>

#include "cambrian/distributed/experiment.hpp"
#include "cambrian/engine/backend/backend.hpp"

namespace cambrian::launch {

/// What a run would do, without doing it: structure, weights, memory of an evaluation, shards and
/// ranks.
[[nodiscard]] std::string dry_run_text(const distributed::Experiment& experiment, Backend& backend,
                                       int ranks);

}  // namespace cambrian::launch
