#include "cambrian/engine/core/task_thread.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian {

TaskThread::TaskThread(std::size_t room) : room_(room) {
    if (VirtualTime::current() == nullptr) {
        thread_ = start_thread([this] { run(); });
    }
}

TaskThread::~TaskThread() {
    if (!thread_.joinable()) {
        static_cast<void>(wait(0, Clock::duration::max()));
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    submitted_.notify_one();
    thread_.join();
}

void TaskThread::rethrow() const {
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

void TaskThread::submit(Task task) {
    static_cast<void>(wait(room_, Clock::duration::max()));
    {
        const std::lock_guard lock(mutex_);
        rethrow();
        if (VirtualTime* time = VirtualTime::current()) {
            run_beside(*time, task);
            return;
        }
        tasks_.push_back(std::move(task));
    }
    submitted_.notify_one();
}

void TaskThread::run_beside(VirtualTime& time, const Task& task) {
    const Clock::time_point start = ends_.empty() ? time.now() : ends_.back();
    ends_.push_back(time.beside(start, [&] {
        try {
            task();
        } catch (...) {
            failure_ = std::current_exception();
        }
    }));
}

void TaskThread::drain() {
    static_cast<void>(wait(0, Clock::duration::max()));
    const std::lock_guard lock(mutex_);
    rethrow();
}

bool TaskThread::has_room(Clock::duration patience) {
    return wait(room_, patience);
}

bool TaskThread::drained(Clock::duration patience) {
    return wait(0, patience);
}

bool TaskThread::wait(std::size_t unfinished, Clock::duration patience) {
    if (VirtualTime* time = VirtualTime::current()) {
        if (ends_.size() > unfinished) {
            const Clock::time_point end = ends_[ends_.size() - unfinished - 1];
            time->sleep(std::clamp(end - time->now(), Clock::duration::zero(), patience));
        }
        while (!ends_.empty() && ends_.front() <= time->now()) {
            ends_.pop_front();
        }
        return failure_ || ends_.size() <= unfinished;
    }
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return failure_ || tasks_.size() <= unfinished; };
    if (patience == Clock::duration::max()) {
        finished_.wait(lock, ready);
        return true;
    }
    return finished_.wait_for(lock, patience, ready);
}

void TaskThread::run() {
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

}  // namespace cambrian
