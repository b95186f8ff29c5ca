#include "cambrian/launch/signals.hpp"

#include <array>
#include <csignal>

namespace cambrian::launch {
namespace {

constexpr std::array<int, 3> watched{SIGINT, SIGTERM, SIGUSR1};

// A handler can reach nothing but static memory.
std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

void note(int signal) {
    received.store(signal, std::memory_order_relaxed);
}

}  // namespace

struct SignalGuard::Saved {
    std::array<struct sigaction, watched.size()> actions;
};

SignalGuard::SignalGuard() : saved_(std::make_unique<Saved>()) {
    received.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < watched.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = note;
        action.sa_flags = SA_RESTART;
        if (watched[i] == SIGINT) action.sa_flags |= static_cast<int>(SA_RESETHAND);
        sigaction(watched[i], &action, &saved_->actions[i]);
    }
}

SignalGuard::~SignalGuard() {
    for (std::size_t i = 0; i < watched.size(); ++i)
        sigaction(watched[i], &saved_->actions[i], nullptr);
}

const std::atomic<int>& SignalGuard::flag() const {
    return received;
}

}  // namespace cambrian::launch
