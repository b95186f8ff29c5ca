#include "cambrian/engine/core/thread_pool.hpp"

#include <sched.h>

#include <fmt/core.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian {

namespace {

// A processor that sleeps takes tens of microseconds to wake, in a virtual machine more: longer
// than many a call takes. Who looks for work lets others have the processor after the greedy time.
constexpr auto spin_time = std::chrono::microseconds(400);
constexpr auto greedy_time = std::chrono::microseconds(20);

using Body = std::function<void(std::int64_t item, int worker)>;

// The items that one worker begins with, on a cache line of their own.
struct alignas(64) Share {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
};

// One call of for_each. Every worker begins with neighbouring items of its own, the same in every
// call over as many, so that it finds in its caches what it left there; then it helps the others.
struct Batch {
    const Body* body = nullptr;
    std::span<Share> shares;
    std::atomic<int> helpers{0};  ///< Workers inside, but for the caller.
    std::mutex failure_mutex;
    std::int64_t failed_item = -1;
    std::exception_ptr failure;

    Batch(const Body& what, std::span<Share> workers, std::int64_t items)
        : body(&what), shares(workers) {
        const auto count = static_cast<std::int64_t>(shares.size());
        std::int64_t first = 0;
        for (std::int64_t worker = 0; worker < count; ++worker) {
            Share& share = shares[static_cast<std::size_t>(worker)];
            share.next.store(first, std::memory_order_relaxed);
            first += items / count + (worker < items % count ? 1 : 0);
            share.end = first;
        }
    }

    [[nodiscard]] bool has_items() const {
        return std::ranges::any_of(shares, [](const Share& share) {
            return share.next.load(std::memory_order_relaxed) < share.end;
        });
    }

    void run(int worker) {
        const std::size_t own = static_cast<std::size_t>(worker);
        for (std::size_t turn = 0; turn < shares.size(); ++turn) {
            take(shares[(own + turn) % shares.size()], worker);
        }
    }

    void take(Share& share, int worker) {
        while (true) {
            const std::int64_t item = share.next.fetch_add(1, std::memory_order_relaxed);
            if (item >= share.end) {
                return;
            }
            try {
                (*body)(item, worker);
            } catch (...) {
                const std::scoped_lock lock(failure_mutex);
                if (failed_item < 0 || item < failed_item) {
                    failed_item = item;
                    failure = std::current_exception();
                }
            }
        }
    }
};

// Leaves the core to its other thread for a moment.
inline void rest() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Waits for a condition: shortly by spinning (when processors are not shared), then by returning
// false.
template <class Condition>
bool spin_until(bool may_spin, Condition condition) {
    if (condition()) {
        return true;
    }
    if (!may_spin) {
        return false;
    }
    const auto start = std::chrono::steady_clock::now();
    std::chrono::steady_clock::duration waited{};
    for (; waited < spin_time; waited = std::chrono::steady_clock::now() - start) {
        for (int i = 0; i < 16; ++i) {
            if (condition()) {
                return true;
            }
            rest();
        }
        if (waited >= greedy_time) {
            std::this_thread::yield();
        }
    }
    return false;
}

}  // namespace

int available_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        return std::max(1, CPU_COUNT(&set));
    }
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

struct ThreadPool::State {
    explicit State(int count)
        : threads(count), may_spin(count > 1 && count <= available_processors()) {
        batches.reserve(8);  // A call allocates nothing that stays.
    }

    /// Also where only some of the workers could be started.
    ~State() {
        stopping.store(true, std::memory_order_relaxed);
        {
            const std::scoped_lock lock(mutex);
            generation.fetch_add(1, std::memory_order_release);
        }
        start.notify_all();
        for (std::thread& worker : workers) {
            worker.join();
        }
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    void work(int worker) {
        std::uint64_t seen = 0;
        for (;;) {
            const auto changed = [&] { return generation.load(std::memory_order_acquire) != seen; };
            if (!spin_until(may_spin, changed)) {
                std::unique_lock lock(mutex);
                start.wait(lock, changed);
            }
            seen = generation.load(std::memory_order_acquire);
            if (stopping.load(std::memory_order_relaxed)) {
                return;
            }
            for (bool alone = false; !alone;) {
                Batch* batch = enter();
                if (batch == nullptr) {
                    break;
                }
                batch->run(worker);
                // A batch stays until its helpers have left. A call that comes now changes the
                // generation.
                alone = calls.load(std::memory_order_acquire) == 1;
                leave(*batch);
            }
        }
    }

    /// A call that has items left, which cannot return before leave().
    Batch* enter() {
        const std::scoped_lock lock(mutex);
        for (Batch* batch : batches) {
            if (batch->has_items()) {
                batch->helpers.fetch_add(1, std::memory_order_relaxed);
                return batch;
            }
        }
        return nullptr;
    }

    /// The batch may end at once. The lock is left to callers who sleep: one who spins takes it
    /// next.
    void leave(Batch& batch) {
        batch.helpers.fetch_sub(1);
        if (sleeping.load() > 0) {
            const std::scoped_lock lock(mutex);
            done.notify_all();
        }
    }

    void run(Batch& batch) {
        {
            const std::scoped_lock lock(mutex);
            batches.push_back(&batch);
            calls.fetch_add(1, std::memory_order_release);
            generation.fetch_add(1, std::memory_order_release);
        }
        start.notify_all();
        batch.run(0);
        // All items are taken by now, so nobody enters any more.
        const auto finished = [&] { return batch.helpers.load() == 0; };
        static_cast<void>(spin_until(may_spin, finished));
        std::unique_lock lock(mutex);
        std::erase(batches, &batch);
        if (!finished()) {
            sleeping.fetch_add(1);
            done.wait(lock, finished);
            sleeping.fetch_sub(1);
        }
        // Its last helpers must see that there is another call.
        calls.fetch_sub(1, std::memory_order_release);
    }

    int threads;
    bool may_spin;
    std::mutex mutex;
    std::condition_variable start;
    std::condition_variable done;
    std::atomic<std::uint64_t> generation{0};
    std::atomic<bool> stopping{false};
    std::atomic<int> calls{0};     ///< Batches under way.
    std::atomic<int> sleeping{0};  ///< Callers who may wait for their helpers under the lock.
    std::vector<Batch*> batches;   ///< Calls under way, guarded by the mutex.
    std::vector<std::thread> workers;
};

ThreadPool::ThreadPool(int threads) {
    CAMBRIAN_ASSERT(threads >= 1);
    state_ = std::make_unique<State>(threads);
    state_->workers.reserve(static_cast<std::size_t>(threads));
    for (int worker = 1; worker < threads; ++worker) {
        state_->workers.push_back(
            start_thread([state = state_.get(), worker] { state->work(worker); }));
    }
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const {
    return state_->threads;
}

void ThreadPool::for_each(std::int64_t items, const Body& body) {
    const bool alone = state_->threads == 1 || items <= 1;
    Share own;
    std::vector<Share> of_all(alone ? 0 : static_cast<std::size_t>(state_->threads));
    Batch batch(body, alone ? std::span(&own, 1) : std::span(of_all), items);
    if (alone) {
        batch.run(0);
    } else {
        state_->run(batch);
    }
    if (batch.failure) {
        std::rethrow_exception(batch.failure);
    }
}

std::thread start_thread(std::function<void()> body) {
    try {
        return std::thread(std::move(body));
    } catch (const std::system_error& error) {
        throw DeviceError(
            fmt::format("one more thread cannot be started (the system refuses it: {}) lower "
                        "engine.threads, start fewer ranks on a host, or raise the limit on "
                        "processes and memory (ulimit -u, ulimit -v, the pids of a container)",
                        error.code().message()));
    }
}

}  // namespace cambrian
