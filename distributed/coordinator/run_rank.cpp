#include <fmt/core.h>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cambrian/distributed/coordinator/coordinator.hpp"
#include "cambrian/distributed/coordinator/succession.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/distributed/worker/rank_log.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/distributed/worker/worker_loop.hpp"
#include "cambrian/engine/core/error.hpp"

// Which rank coordinates, and what each does meanwhile.
namespace cambrian::distributed {

RunResult run_coordinator(Communicator& communicator, Backend& backend,
                          const Experiment& experiment, Start start, Reporter& reporter,
                          const std::atomic<int>& interrupt, const Turn& turn) {
    return Coordinator(communicator, backend, experiment, reporter, interrupt, turn).run(start);
}

namespace {

/// Who coordinates after a rank that is silent; nothing where nobody must. Throws Deposed, and
/// CoordinatorLost where this rank cannot go on, which it notes.
std::optional<Reign> successor(const Workplace& place, const CoordinatorLost& lost, RankLog& log,
                               const Meanwhile& meanwhile) {
    const Experiment& experiment = place.experiment;
    try {
        return lost.lock_excludes
                   ? await_successor(
                         experiment.directory, place.communicator, *lost.former, place.interrupt,
                         [&](const std::string& text) { log.line(text); },
                         experiment.distribution.kill_stopped, meanwhile)
                   : await_other_successor(
                         experiment.directory, place.communicator, lost, place.interrupt,
                         // Others may have heard of it so much later.
                         experiment.distribution.lease_seconds / heartbeats_in_a_lease, meanwhile);
    } catch (const InputError& error) {
        log.line(error.what());
        throw CoordinatorLost(error.what(), lost.former, lost.lock_excludes,
                              std::current_exception());
    }
}

/// Why a worker has lost its coordinator; nothing where it was told to stop. Throws where nobody is
/// to follow.
std::optional<CoordinatorLost> run(Worker& worker, const Experiment& experiment) {
    try {
        worker.run();
        return std::nullopt;
    } catch (const CoordinatorLost& lost) {
        if (!lost.former || experiment.distribution.takeover == Takeover::never) {
            throw;
        }
        return lost;
    }
}

/// Works for a coordinator. Returns who follows it; nothing where the run is over.
std::optional<Reign> work_for(const Reign& reign, const Workplace& place,
                              std::shared_ptr<LocalCompute>& compute, bool& lock_excludes) {
    const std::unique_ptr<Worker> worker = make_worker(place, compute, reign, lock_excludes);
    while (const auto lost = run(*worker, place.experiment)) {
        lock_excludes = lost->lock_excludes;
        RankLog log(place.experiment.directory, place.communicator.rank());
        log.go_on();
        // The worker lives on: that one may only have been stopped, and what is under way counts.
        const auto next =
            successor(place, *lost, log, [&](const Message* message) { worker->attend(message); });
        if (!next) {
            log.line(place.interrupt.load() == 0 ? "stop: the run has ended"
                                                 : "a signal has asked it to end");
            return std::nullopt;
        }
        log.line(fmt::format("rank {} coordinates, epoch {}", next->rank, next->epoch));
        if (*next != *lost->former) {
            compute->thread->change_owner();  // At once: nothing more of that reign is to begin.
            return next;
        }
        worker->go_on();
    }
    return std::nullopt;
}

}  // namespace

void run_rank(Communicator& communicator, Backend& backend, const Experiment& experiment,
              Start start, const std::atomic<int>& interrupt, const WorkerLimits& limits,
              const std::function<void(Start start, const Turn& turn)>& coordinate) {
    const Workplace place{communicator, backend, experiment, interrupt, limits};
    Turn turn;
    bool lock_excludes = false;  // Until that was seen.
    // There may be no checkpoint yet: then a successor begins the run again.
    for (; communicator.rank() != turn.reign.rank; start = Start::proceed) {
        const auto next = work_for(turn.reign, place, turn.compute, lock_excludes);
        if (!next) {
            return;
        }
        turn.reign = *next;
    }
    coordinate(start, turn);
}

}  // namespace cambrian::distributed
