#pragma once

#include <atomic>
#include <cstdint>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/experiment.hpp"
#include "cambrian/engine/backend/backend.hpp"

namespace cambrian::distributed {

struct WorkerLimits {
    std::uint64_t cache_bytes = std::uint64_t{256} << 20U;  ///< Of parents.
    double first_contact_seconds = 120.0;  ///< Patience before the coordinator's first word.
    double silence_seconds = 1.0;          ///< Least patience after it, which is one lease.
};

/// run_worker with limits of its own.
std::uint64_t run_worker(Communicator& communicator, Backend& backend, const Experiment& experiment,
                         const std::atomic<int>& interrupt, const WorkerLimits& limits);

}  // namespace cambrian::distributed
