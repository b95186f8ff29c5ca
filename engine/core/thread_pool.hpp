#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

namespace cambrian {

/// The threads of a rank: a backend owns them, and whoever works beside it borrows them
/// (Backend::threads). With one thread everything runs on the caller. Work is cut by the caller,
/// never by the pool, so results cannot depend on the number of threads.
class ThreadPool {
  public:
    /// @param threads workers, the caller included; at least 1. Throws DeviceError: one is refused.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] int threads() const;
    /// Calls body(item, worker) for every item in [0, items), each item once, in any order;
    /// worker in [0, threads()) names scratch that no other thread of this call has. Several
    /// threads may call at once, items too: the workers help wherever items are left. Rethrows the
    /// exception of the lowest item.
    void for_each(std::int64_t items,
                  const std::function<void(std::int64_t item, int worker)>& body);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Number of processors this process may run on (its affinity mask), at least 1.
[[nodiscard]] int available_processors();

/// Starts a thread; whoever owns it joins it. Throws DeviceError where the system refuses one more.
[[nodiscard]] std::thread start_thread(std::function<void()> body);

}  // namespace cambrian
