#pragma once

#include <atomic>

namespace cambrian {

/// Has something done once, by whoever comes first, while others wait. As std::call_once, but that
/// one asks the system to wake waiters where there are none, too, which takes longer than a small
/// network. What throws is not done: the next caller tries again.
class Once {
  public:
    template <class Body>
    void call(const Body& body) {
        for (;;) {
            State state = state_.load(std::memory_order_acquire);
            if (state == State::done) return;
            if (state == State::under_way) {
                state_.wait(state, std::memory_order_acquire);
            } else if (state_.compare_exchange_weak(state, State::under_way,
                                                    std::memory_order_acquire)) {
                run(body);
                return;
            }
        }
    }

  private:
    enum class State : int { open, under_way, done };

    template <class Body>
    void run(const Body& body) {
        try {
            body();
        } catch (...) {
            end(State::open);
            throw;
        }
        end(State::done);
    }

    void end(State state) {
        state_.store(state, std::memory_order_release);
        state_.notify_all();
    }

    std::atomic<State> state_ = State::open;
};

}  // namespace cambrian
