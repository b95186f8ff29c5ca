#pragma once

#include <string>

#include "cambrian/distributed/experiment.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/distributed/worker/rank_log.hpp"
#include "cambrian/distributed/worker/worker.hpp"

namespace cambrian::distributed {

/// What a worker knows of whether its coordinator lives: how long that has been silent, and whether
/// the lock of the run directory shows its death.
class CoordinatorWatch {
  public:
    /// @param heard whether it has spoken, or must soon.
    /// @param lock_excludes see CoordinatorLost.
    CoordinatorWatch(const Experiment& experiment, const WorkerLimits& limits, RankLog& log,
                     bool heard, bool lock_excludes)
        : experiment_(experiment),
          limits_(limits),
          log_(log),
          heard_(heard),
          lock_excludes_(lock_excludes) {}

    /// It has spoken.
    void hear() {
        silence_ = 0.0;
        heard_ = true;
    }
    /// It lives, and has not begun to reign: it makes again what the run goes on from. The patience
    /// before its first word begins anew.
    void wait_on() { silence_ = 0.0; }
    void pass(double seconds) { silence_ += seconds; }

    /// While it lives and holds the lock: whether that can be seen here. Until it was seen once,
    /// each word of it is an occasion: a file system may be slow to show it.
    void probe_lock();
    /// Into the log, when that has changed.
    void say_whether_locks_exclude();
    /// Before its first word only the lock shows that it lives. Throws CoordinatorLost: it was
    /// held, and is free.
    void look_at_lock();
    /// It answers every heartbeat, whatever else it does. Throws CoordinatorLost: it has not, for
    /// a lease, or for the patience before its first word.
    void check_silence(const Reign& reign) const;

  private:
    const Experiment& experiment_;
    const WorkerLimits& limits_;
    RankLog& log_;
    double silence_ = 0.0;
    bool heard_;
    bool lock_excludes_;
    bool said_that_locks_exclude_ = true;
    bool seen_held_ = false;      ///< Before the first word, and how often it was free
    int looks_at_free_lock_ = 0;  ///< since.
    std::string why_not_;         ///< What the last look at the lock showed.
};

}  // namespace cambrian::distributed
