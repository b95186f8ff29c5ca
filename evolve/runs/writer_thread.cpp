#include "cambrian/evolve/runs/writer_thread.hpp"

#include <utility>

#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

WriterThread::WriterThread(std::size_t room)
    : room_(room), thread_(start_thread([this] { run(); })) {}

WriterThread::~WriterThread() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    submitted_.notify_one();
    thread_.join();
}

void WriterThread::rethrow() const {
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

void WriterThread::submit(Task task) {
    {
        std::unique_lock lock(mutex_);
        finished_.wait(lock, [this] { return failure_ || tasks_.size() <= room_; });
        rethrow();
        tasks_.push_back(std::move(task));
    }
    submitted_.notify_one();
}

void WriterThread::drain() {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return failure_ || tasks_.empty(); });
    rethrow();
}

bool WriterThread::has_room(std::chrono::microseconds patience) {
    std::unique_lock lock(mutex_);
    return finished_.wait_for(lock, patience,
                              [this] { return failure_ || tasks_.size() <= room_; });
}

bool WriterThread::drained(std::chrono::microseconds patience) {
    std::unique_lock lock(mutex_);
    return finished_.wait_for(lock, patience, [this] { return failure_ || tasks_.empty(); });
}

void WriterThread::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        submitted_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
        if (tasks_.empty()) {
            return;
        }
        Task task = std::move(tasks_.front());
        lock.unlock();
        std::exception_ptr failure;
        try {
            task();
        } catch (...) {
            failure = std::current_exception();
        }
        task = nullptr;  // What it held may be large.
        lock.lock();
        if (failure) {
            failure_ = failure;
            tasks_.clear();
        } else {
            tasks_.pop_front();
        }
        finished_.notify_one();
    }
}

}  // namespace cambrian::distributed
