#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/gpu/vulkan/device.hpp"

namespace cambrian::vulkan {

/// Timestamps around every command of every command buffer. While a profile is on, commands do not
/// overlap (the recorder puts a barrier between any two) and a submission is waited for, so that
/// each time is one kernel's own.
class Device::Profile {
  public:
    explicit Profile(Device& device) : device_(device) {}
    ~Profile();
    Profile(const Profile&) = delete;
    Profile& operator=(const Profile&) = delete;

    /// A command buffer is recorded anew.
    void begin(VkCommandBuffer commands);
    /// Around one command of the recording.
    /// @param bytes it reads and writes.
    void before(VkCommandBuffer commands, std::string_view kernel, std::uint64_t bytes);
    void after(VkCommandBuffer commands);
    /// Adds the times of a command buffer that has run.
    void collect(VkCommandBuffer commands);
    /// A command buffer goes away.
    void forget(VkCommandBuffer commands) noexcept;

    /// Times since the last call, most expensive first.
    [[nodiscard]] std::vector<KernelTime> take();

  private:
    /// Queries of one command buffer: two for each command, in pools of a fixed size.
    struct Command {
        std::string kernel;
        std::uint64_t bytes = 0;
    };
    struct Recording {
        std::vector<VkQueryPool> pools;
        std::vector<Command> commands;
    };
    struct Sum {
        std::int64_t dispatches = 0;
        double seconds = 0.0;
        std::uint64_t bytes = 0;
    };

    Device& device_;
    std::map<VkCommandBuffer, Recording> recordings_;
    std::map<std::string, Sum> sums_;
};

}  // namespace cambrian::vulkan
