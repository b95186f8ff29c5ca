#include <fmt/core.h>

#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "cambrian/distributed/coordinator/coordinator.hpp"
#include "cambrian/distributed/coordinator/succession.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/distributed/worker/rank_log.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/error.hpp"

// Which rank coordinates, and what each does meanwhile.
namespace cambrian::distributed {

RunResult run_coordinator(Communicator& communicator, Backend& backend,
                          const Experiment& experiment, Start start, Reporter& reporter,
                          const std::atomic<int>& interrupt, const Reign& reign) {
    return Coordinator(communicator, backend, experiment, reporter, interrupt, reign).run(start);
}

namespace {

/// Who coordinates after a rank that is silent; nothing where nobody must. Throws Deposed, and
/// CoordinatorLost where this rank cannot go on, which it notes.
std::optional<Reign> successor(Communicator& communicator, const Experiment& experiment,
                               const std::atomic<int>& interrupt, const CoordinatorLost& lost,
                               RankLog& log) {
    try {
        return lost.lock_excludes
                   ? await_successor(
                         experiment.directory, communicator, *lost.former, interrupt,
                         [&](const std::string& text) { log.line(text); },
                         experiment.distribution.kill_stopped)
                   : await_other_successor(
                         experiment.directory, communicator, lost, interrupt,
                         // Others may have heard of it so much later.
                         experiment.distribution.lease_seconds / heartbeats_in_a_lease);
    } catch (const InputError& error) {
        log.line(error.what());
        throw CoordinatorLost(error.what(), lost.former, lost.lock_excludes,
                              std::current_exception());
    }
}

}  // namespace

void run_rank(Communicator& communicator, Backend& backend, const Experiment& experiment,
              Start start, const std::atomic<int>& interrupt, const WorkerLimits& limits,
              const std::function<void(Start start, const Reign& reign)>& coordinate) {
    Reign reign;
    bool lock_excludes = false;  // Until that was seen.
    // There may be no checkpoint yet: then a successor begins the run again.
    for (; communicator.rank() != reign.rank; start = Start::proceed) {
        std::optional<CoordinatorLost> lost;
        try {
            run_worker(communicator, backend, experiment, interrupt, limits, reign, lock_excludes);
            return;
        } catch (const CoordinatorLost& caught) {
            if (!caught.former || experiment.distribution.takeover == Takeover::never) {
                throw;
            }
            lost = caught;
            lock_excludes = caught.lock_excludes;
        }
        RankLog log(experiment.directory, communicator.rank());
        log.go_on();
        const auto next = successor(communicator, experiment, interrupt, *lost, log);
        if (!next) {
            log.line(interrupt.load() == 0 ? "stop: the run has ended"
                                           : "a signal has asked it to end");
            return;
        }
        reign = *next;
        log.line(fmt::format("rank {} coordinates, epoch {}", reign.rank, reign.epoch));
    }
    coordinate(start, reign);
}

}  // namespace cambrian::distributed
