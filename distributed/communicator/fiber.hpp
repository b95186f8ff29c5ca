#pragma once

#include <functional>
#include <memory>

namespace cambrian::distributed {

/// A function with a stack of its own, which runs until it lets another one go on. All of them are
/// of one thread, so that a change of turns takes no help of the system's scheduler.
class Fiber {
  public:
    /// The thread that asks, as one of them.
    Fiber();
    /// @param body begins at the first switch to it; → who goes on after its end. Throws nothing.
    /// Throws DeviceError where the system has no memory for the stack.
    explicit Fiber(std::function<Fiber&()> body);
    /// Contract: it has not begun, or has come to its end.
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// Lets another one go on until somebody switches to this one, which is the one that runs.
    void switch_to(Fiber& next);

  private:
    struct State;
    static void begin(unsigned high, unsigned low);
    std::unique_ptr<State> state_;
};

}  // namespace cambrian::distributed
