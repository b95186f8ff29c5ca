#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/gpu/vulkan/address_book.hpp"
#include "cambrian/gpu/vulkan/device.hpp"
#include "cambrian/gpu/vulkan/instance.hpp"
#include "cambrian/gpu/vulkan/physical_device.hpp"
#include "cambrian/gpu/vulkan/profile.hpp"

namespace cambrian::vulkan {

/// Everything a device consists of. What has been made is taken down again in reverse, also when
/// the constructor throws halfway.
struct Device::State {
    explicit State(const DeviceOptions& options);
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    /// Throws DeviceError when an earlier call has found the device lost.
    void require_alive() const;
    /// Throws DeviceError unless the result is a success; remembers a lost device.
    void check(VkResult result, std::string_view call);

    /// The first message of the validation layer that nobody took.
    std::string validation_message;
    Instance instance;
    PhysicalDevice physical;
    Functions functions{};
    VkDevice device = VK_NULL_HANDLE;
    /// A queue of the device, or part of one that several share.
    struct Queue {
        VkQueue handle = VK_NULL_HANDLE;
        VkSemaphore timeline = VK_NULL_HANDLE;
        Ticket reached = 0;  ///< The highest value of the timeline that was seen.
        Tickets seen;        ///< Of other queues, what a submission of this one has waited for.
    };
    std::vector<Queue> queues;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    std::string lost_in;  ///< The call that found the device lost.
    Ticket last = 0;
    Tickets latest;  ///< Of each queue.
    std::int64_t submits = 0;
    std::int64_t waits = 0;
    AddressBook addresses;
    std::unique_ptr<Profile> profile;

  private:
    void open(std::size_t wanted_queues);
    void make_timelines();
    void make_layout();
    void close() noexcept;
};

}  // namespace cambrian::vulkan
