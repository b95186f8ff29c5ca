#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace cambrian::distributed {

/// Runs tasks one after another on a thread of its own, in the order of their submission, so that
/// formatting and the disk do not hold up the next generation. Used by one owner.
///
/// What a task throws ends the work: later tasks are dropped, and every later call throws it again.
class WriterThread {
  public:
    using Task = std::function<void()>;

    /// @param room tasks that may wait before submit() waits too; bounds what they hold.
    explicit WriterThread(std::size_t room);
    /// Finishes what was submitted.
    ~WriterThread();
    WriterThread(const WriterThread&) = delete;
    WriterThread& operator=(const WriterThread&) = delete;

    void submit(Task task);
    /// Waits until everything submitted is done. What the tasks used may be used after it.
    void drain();
    /// Whether submit() would return at once, waiting up to `patience` for that.
    [[nodiscard]] bool has_room(std::chrono::microseconds patience);
    /// Whether drain() would, waiting up to `patience` for that.
    [[nodiscard]] bool drained(std::chrono::microseconds patience);

  private:
    void run();
    void rethrow() const;

    const std::size_t room_;
    std::mutex mutex_;
    std::condition_variable submitted_;
    std::condition_variable finished_;
    std::deque<Task> tasks_;  ///< The running one stays at the front.
    std::exception_ptr failure_;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace cambrian::distributed
