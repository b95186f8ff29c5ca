#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "cambrian/engine/core/clock.hpp"

namespace cambrian {

/// Runs tasks one after another on a thread of its own, in the order of their submission, so that
/// formatting, the disk or an evaluation do not hold up its owner. Used by one owner. In virtual
/// time a task runs when it is submitted, and counts as finished when that thread would have done.
///
/// What a task throws ends the work: later tasks are dropped, and every later call throws it again.
class TaskThread {
  public:
    using Task = std::function<void()>;

    /// @param room tasks that may wait before submit() waits too; bounds what they hold.
    explicit TaskThread(std::size_t room);
    /// Finishes what was submitted.
    ~TaskThread();
    TaskThread(const TaskThread&) = delete;
    TaskThread& operator=(const TaskThread&) = delete;

    void submit(Task task);
    /// Waits until everything submitted is done. What the tasks used may be used after it.
    void drain();
    /// Whether submit() would return at once, waiting up to `patience` for that.
    [[nodiscard]] bool has_room(Clock::duration patience);
    /// Whether drain() would, waiting up to `patience` for that.
    [[nodiscard]] bool drained(Clock::duration patience);

  private:
    void run();
    void run_beside(VirtualTime& time, const Task& task);
    void rethrow() const;
    /// Whether no more than so many tasks are unfinished, waiting up to `patience` for that.
    [[nodiscard]] bool wait(std::size_t unfinished, Clock::duration patience);

    const std::size_t room_;
    std::mutex mutex_;
    std::condition_variable submitted_;
    std::condition_variable finished_;
    std::deque<Task> tasks_;              ///< The running one stays at the front.
    std::deque<Clock::time_point> ends_;  ///< In virtual time: of tasks that have run already.
    std::exception_ptr failure_;
    bool ending_ = false;
    std::thread thread_;  ///< None in virtual time.
};

}  // namespace cambrian
