#include "cambrian/launch/commands/signals.hpp"

#include <array>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace cambrian::launch {
namespace {

constexpr std::array<int, 4> watched{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
// A reader that leaves and a limit on the size of files are errors of writing, not ends of a run.
constexpr std::array<int, 2> ignored{SIGPIPE, SIGXFSZ};
constexpr std::int64_t repeat_milliseconds = 300;

// A handler can reach nothing but static memory.
std::atomic<int> received{0};
std::atomic<std::int64_t> first_request{0};
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t milliseconds_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// Saves what is to be saved at the first signal, ends the process at the second.
void note(int signal) {
    received.store(signal, std::memory_order_relaxed);
    if (signal == SIGUSR1) return;
    const std::int64_t now = milliseconds_now();
    std::int64_t first = 0;
    if (first_request.compare_exchange_strong(first, now)) return;
    if (now - first < repeat_milliseconds) return;
    // It is blocked while its handler runs, and ends the process after it.
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

}  // namespace

struct SignalGuard::Saved {
    std::array<struct sigaction, watched.size()> actions;
    std::array<struct sigaction, ignored.size()> ignored_before;
};

SignalGuard::SignalGuard() : saved_(std::make_unique<Saved>()) {
    received.store(0, std::memory_order_relaxed);
    first_request.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < watched.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = note;
        action.sa_flags = SA_RESTART;
        sigaction(watched[i], &action, &saved_->actions[i]);
        if (watched[i] == SIGHUP && saved_->actions[i].sa_handler == SIG_IGN)
            sigaction(watched[i], &saved_->actions[i], nullptr);
    }
    for (std::size_t i = 0; i < ignored.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = SIG_IGN;
        sigaction(ignored[i], &action, &saved_->ignored_before[i]);
    }
}

SignalGuard::~SignalGuard() {
    for (std::size_t i = 0; i < watched.size(); ++i)
        sigaction(watched[i], &saved_->actions[i], nullptr);
    for (std::size_t i = 0; i < ignored.size(); ++i)
        sigaction(ignored[i], &saved_->ignored_before[i], nullptr);
}

const std::atomic<int>& SignalGuard::flag() const {
    return received;
}

}  // namespace cambrian::launch
