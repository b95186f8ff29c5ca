#pragma once

#include <functional>
#include <thread>

namespace cambrian {

/// Starts a thread; whoever owns it joins it. Throws DeviceError where the system refuses one more.
[[nodiscard]] std::thread start_thread(std::function<void()> body);

}  // namespace cambrian
