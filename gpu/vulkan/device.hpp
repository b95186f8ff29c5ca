#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cambrian/gpu/vulkan/loader.hpp"
#include "cambrian/gpu/vulkan/pipeline.hpp"

namespace cambrian::vulkan {

class AddressBook;

/// Threads of a workgroup that kernels need: how many share a long row decides its bits. Vulkan
/// promises a quarter as many, GPUs of desktops have twice as many.
inline constexpr std::uint32_t needed_group_threads = 512;

/// What kernels and memory may rely on.
struct DeviceLimits {
    std::uint32_t subgroup_width = 1;
    bool subgroup_scans = false;          ///< Kernels add up, vote and hand over words in them.
    std::int64_t shared_bytes = 0;        ///< Of one workgroup.
    std::uint32_t max_group_threads = 0;  ///< Of one workgroup.
    std::uint32_t max_groups = 0;         ///< Of one dispatch along x.
    std::int64_t memory_bytes = 0;        ///< Of the device-local heap.
    double timestamp_nanoseconds = 0.0;   ///< Of a tick; 0: no timestamps.
    bool software = false;                ///< llvmpipe: small tiles, few threads.
    /// Mesa's software device or NVIDIA's: threads next to each other are a subgroup, those that a
    /// branch or a loop has parted go on together after it, and subnormal halves of a word become
    /// the numbers that they are, which Vulkan leaves open.
    bool known_driver = false;
    /// Threads next to each other that surely are one subgroup.
    [[nodiscard]] std::uint32_t neighbours() const { return known_driver ? subgroup_width : 1; }
    /// Subgroups multiply matrices of f16, 16 by 16 by 16, and add in f32.
    bool cooperative_matrix = false;
    FloatControls float_controls;
    /// Why kernels may have other bits than those of other devices, or an empty text. The known
    /// drivers name no subnormals, and keep them.
    [[nodiscard]] std::string_view strict_fault() const {
        if (known_driver) return "";
        if (!float_controls.keep_subnormals) return "its driver may take subnormal numbers for 0";
        return float_controls.round_to_nearest_even ? "" : "its driver may round otherwise";
    }
    std::string device_name;
    std::string driver;  ///< Name and version.
    std::string uuid;
};

/// Identifies a submission; whoever was submitted later has a higher one, whatever its queue. A
/// ticket is the value that the timeline of its queue reaches when it is done.
using Ticket = std::uint64_t;
/// At most in use: whoever prepares runs is seldom further ahead.
inline constexpr std::size_t max_queues = 4;
[[nodiscard]] constexpr std::size_t queue_of(Ticket ticket) {
    return ticket % max_queues;
}

/// Submissions of several queues: the latest of each, which is done after those before it.
class Tickets {
  public:
    void add(Ticket ticket) {
        Ticket& latest = latest_[queue_of(ticket)];
        latest = std::max(latest, ticket);
    }
    void add(const Tickets& others) {
        for (const Ticket ticket : others.latest_) add(ticket);
    }
    /// By queue; 0: none.
    [[nodiscard]] const std::array<Ticket, max_queues>& latest() const { return latest_; }

  private:
    std::array<Ticket, max_queues> latest_{};
};

struct DeviceOptions {
    std::string uuid;
    std::size_t queues = 0;  ///< See VulkanOptions.
    bool validation = false;
    bool profile = false;
    std::function<void(std::string_view)> on_validation_message;
};

/// A logical device with compute queues and their timeline semaphores. Every failed call is a
/// DeviceError that names the call and the result; after VK_ERROR_DEVICE_LOST every call fails.
class Device {
  public:
    explicit Device(const DeviceOptions& options);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] const DeviceLimits& limits() const;
    [[nodiscard]] const Functions& functions() const;
    [[nodiscard]] VkDevice handle() const;
    [[nodiscard]] VkPhysicalDevice physical() const;
    [[nodiscard]] std::uint32_t queue_family() const;
    /// The one pipeline layout: a Push block (recorder.hpp) and nothing else.
    [[nodiscard]] VkPipelineLayout layout() const;

    /// How many submissions may be under way beside each other.
    [[nodiscard]] std::size_t queues() const;
    /// Runs the command buffers in order, in one submission, after what its queue was given before.
    /// @param after what other queues finish first, too.
    Ticket submit(std::span<const VkCommandBuffer> commands, std::size_t queue = 0,
                  const Tickets& after = {});
    /// Spins shortly, then sleeps, until a submission is done. 0 is always done.
    void wait(Ticket ticket);
    void wait(const Tickets& tickets);
    /// All that was submitted.
    [[nodiscard]] const Tickets& latest() const;
    void wait_for_all() { wait(latest()); }
    /// The same for destructors: where it cannot be waited for, until the device is idle or lost.
    void settle(Ticket ticket) noexcept;
    void settle(const Tickets& tickets) noexcept;
    [[nodiscard]] bool done(Ticket ticket) const;
    [[nodiscard]] Ticket last() const;  ///< Of the latest submission.
    [[nodiscard]] std::int64_t submits() const;
    /// How often one waits for another queue.
    [[nodiscard]] std::int64_t waits() const;

    /// Throws DeviceError when the device has been lost.
    void require_alive() const;
    /// Throws DeviceError unless the result is a success.
    void check(VkResult result, std::string_view call);
    /// Throws DeviceError when the validation layer has said something and nobody listens.
    void check_validation() const;

    /// Which buffer an address lies in: the heap enters its slabs, the recorder asks.
    [[nodiscard]] AddressBook& addresses() const;

    /// Timestamps of DeviceOptions::profile: recorder.cpp writes them, names say which kernel.
    class Profile;
    [[nodiscard]] Profile* profile() const;  ///< Null when off.

  private:
    Ticket submit_to(std::size_t queue, std::span<const VkCommandBuffer> commands,
                     const Tickets& after);

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cambrian::vulkan
