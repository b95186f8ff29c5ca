#include "cambrian/distributed/worker/coordinator_watch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/run_lock.hpp"

namespace cambrian::distributed {

void CoordinatorWatch::probe_lock() {
    if (lock_excludes_ || experiment_.distribution.takeover == Takeover::never) {
        return;
    }
    try {
        lock_excludes_ = holder_of_run(experiment_.directory).has_value();
        why_not_ = "the system says that nobody holds it";
    } catch (const InputError& error) {
        why_not_ = error.what();
    }
}

void CoordinatorWatch::say_whether_locks_exclude() {
    if (why_not_.empty() || lock_excludes_ == said_that_locks_exclude_) {
        return;
    }
    said_that_locks_exclude_ = lock_excludes_;
    if (lock_excludes_) {
        log_.line("this rank sees the lock now, and may follow a coordinator that dies");
        return;
    }
    log_.line(fmt::format(
        "this rank will not follow a coordinator that dies (the lock of {} means nothing "
        "here: {}) put run.directory on a file system that all hosts see and whose "
        "locks they share",
        experiment_.directory.string(), why_not_));
}

void CoordinatorWatch::look_at_lock() {
    if (heard_) {
        return;
    }
    bool held = false;
    try {
        held = holder_of_run(experiment_.directory).has_value();
    } catch (const InputError&) {
        return;  // Its patience ends the wait.
    }
    looks_at_free_lock_ = held ? 0 : looks_at_free_lock_ + 1;
    seen_held_ = seen_held_ || held;
    constexpr int certain = 2;
    if (seen_held_ && looks_at_free_lock_ >= certain) {
        throw CoordinatorLost(
            fmt::format("the coordinator ended before its first word (the lock of {} was held, "
                        "and is free) start the run again with --continue",
                        experiment_.directory.string()),
            std::nullopt, true);
    }
}

void CoordinatorWatch::check_silence(const Reign& reign) const {
    const double lease = experiment_.distribution.lease_seconds;
    if (heard_ && silence_ > std::max(limits_.silence_seconds, lease)) {
        throw CoordinatorLost(
            fmt::format(
                "the coordinator has been silent for a lease, {:.3g} seconds (it died or is "
                "stuck; distributed.lease_seconds is {:g}) resume the run from its last "
                "checkpoint",
                silence_, lease),
            reign, lock_excludes_);
    }
    if (!heard_ && silence_ > limits_.first_contact_seconds) {
        throw CoordinatorLost(
            fmt::format("the coordinator has not spoken for {:.3g} seconds (it died or is slow to "
                        "begin) resume the run, or start it again",
                        silence_),
            std::nullopt, lock_excludes_);
    }
}

}  // namespace cambrian::distributed
