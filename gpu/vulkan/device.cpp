#include "cambrian/gpu/vulkan/device.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/simd/float_guard.hpp"
#include "cambrian/gpu/vulkan/address_book.hpp"
#include "cambrian/gpu/vulkan/device_state.hpp"
#include "cambrian/gpu/vulkan/profile.hpp"

namespace cambrian::vulkan {

namespace {

/// A sleeping thread wakes up late; short kernels are worth a look at the counter first.
constexpr std::chrono::microseconds spin_time{20};

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

// A device in software computes in threads that it starts here, with this thread's rules for
// subnormal numbers: it has no float control for them.
Device::Device(const DeviceOptions& options)
    : state_([&options] {
          const cpu::FloatGuard rules;
          return std::make_unique<State>(options);
      }()) {
    check_validation();
    if (!options.profile) return;
    if (limits().timestamp_nanoseconds <= 0.0) {
        throw DeviceError(limits().device_name +
                          " cannot be profiled (its compute queue has no timestamps) run without "
                          "--profile");
    }
    state_->profile = std::make_unique<Profile>(*this);
}

Device::~Device() {
    // Work that nobody waited for may still use what goes away now; a lost device has none.
    state_->functions.vkDeviceWaitIdle(state_->device);
}

const DeviceLimits& Device::limits() const {
    return state_->physical.limits;
}

const Functions& Device::functions() const {
    return state_->functions;
}

VkDevice Device::handle() const {
    return state_->device;
}

VkPhysicalDevice Device::physical() const {
    return state_->physical.handle;
}

std::uint32_t Device::queue_family() const {
    return state_->physical.queue_family;
}

VkPipelineLayout Device::layout() const {
    return state_->layout;
}

std::size_t Device::queues() const {
    return state_->queues.size();
}

// The next value of a timeline may be far from the one before, but not any distance: idle queues
// follow.
Ticket Device::submit(std::span<const VkCommandBuffer> commands, std::size_t queue,
                      const Tickets& after) {
    CAMBRIAN_EXPECT(queue < queues());
    constexpr Ticket reach = Ticket{1} << 30U;
    for (std::size_t other = 0; other < queues(); ++other) {
        if (state_->last - state_->latest.latest()[other] > reach)
            static_cast<void>(submit_to(other, {}, {}));
    }
    return submit_to(queue, commands, after);
}

Ticket Device::submit_to(std::size_t queue, std::span<const VkCommandBuffer> commands,
                         const Tickets& after) {
    State::Queue& own = state_->queues[queue];
    const Ticket ticket = (state_->last / max_queues + 1) * max_queues + queue;
    std::vector<VkSemaphore> semaphores;
    std::vector<Ticket> values;
    for (const Ticket other : after.latest()) {
        CAMBRIAN_EXPECT(other <= state_->last);
        // Also for what is done: a wait is what makes its writes visible to this queue.
        if (queue_of(other) == queue || other <= own.seen.latest()[queue_of(other)]) continue;
        semaphores.push_back(state_->queues[queue_of(other)].timeline);
        values.push_back(other);
    }
    const std::vector<VkPipelineStageFlags> stages(values.size(),
                                                   VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    VkTimelineSemaphoreSubmitInfo timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.waitSemaphoreValueCount = static_cast<std::uint32_t>(values.size());
    timeline.pWaitSemaphoreValues = values.data();
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &ticket;
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &timeline;
    info.waitSemaphoreCount = static_cast<std::uint32_t>(semaphores.size());
    info.pWaitSemaphores = semaphores.data();
    info.pWaitDstStageMask = stages.data();
    info.commandBufferCount = static_cast<std::uint32_t>(commands.size());
    info.pCommandBuffers = commands.data();
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &own.timeline;
    state_->require_alive();
    check(state_->functions.vkQueueSubmit(own.handle, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    state_->last = ticket;
    state_->latest.add(ticket);
    for (const Ticket value : values) own.seen.add(value);
    ++state_->submits;
    state_->waits += static_cast<std::int64_t>(values.size());
    if (state_->profile) {
        wait(ticket);
        for (VkCommandBuffer recorded : commands) state_->profile->collect(recorded);
    }
    check_validation();
    return ticket;
}

void Device::wait(Ticket ticket) {
    CAMBRIAN_EXPECT(ticket <= state_->last && queue_of(ticket) < queues());
    const auto start = std::chrono::steady_clock::now();
    do {
        if (done(ticket)) return;
        pause();
    } while (std::chrono::steady_clock::now() - start < spin_time);
    VkSemaphoreWaitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &state_->queues[queue_of(ticket)].timeline;
    info.pValues = &ticket;
    check(state_->functions.vkWaitSemaphores(state_->device, &info,
                                             std::numeric_limits<std::uint64_t>::max()),
          "vkWaitSemaphores");
    // A wait may also end well because the device is lost.
    if (!done(ticket)) check(VK_ERROR_DEVICE_LOST, "vkWaitSemaphores");
    check_validation();
}

void Device::wait(const Tickets& tickets) {
    for (const Ticket ticket : tickets.latest()) wait(ticket);
}

const Tickets& Device::latest() const {
    return state_->latest;
}

void Device::settle(Ticket ticket) noexcept {
    Tickets tickets;
    tickets.add(ticket);
    settle(tickets);
}

void Device::settle(const Tickets& tickets) noexcept {
    try {
        wait(tickets);
    } catch (const DeviceError&) {
        state_->functions.vkDeviceWaitIdle(state_->device);
    }
}

void Device::require_alive() const {
    state_->require_alive();
}

bool Device::done(Ticket ticket) const {
    State::Queue& queue = state_->queues.at(queue_of(ticket));
    if (ticket <= queue.reached) return true;
    state_->require_alive();
    std::uint64_t value = 0;
    state_->check(
        state_->functions.vkGetSemaphoreCounterValue(state_->device, queue.timeline, &value),
        "vkGetSemaphoreCounterValue");
    // A lost device may report any value; no submission has a number that high.
    if (value > state_->latest.latest()[queue_of(ticket)])
        state_->check(VK_ERROR_DEVICE_LOST, "vkGetSemaphoreCounterValue");
    queue.reached = std::max(queue.reached, value);
    return ticket <= queue.reached;
}

Ticket Device::last() const {
    return state_->last;
}

std::int64_t Device::submits() const {
    return state_->submits;
}

std::int64_t Device::waits() const {
    return state_->waits;
}

void Device::check(VkResult result, std::string_view call) {
    state_->check(result, call);
}

void Device::check_validation() const {
    if (state_->validation_message.empty()) return;
    throw DeviceError("the Vulkan validation layer complained (" +
                      std::exchange(state_->validation_message, {}) +
                      ") report this as a bug of Cambrian");
}

AddressBook& Device::addresses() const {
    return state_->addresses;
}

Device::Profile* Device::profile() const {
    return state_->profile.get();
}

}  // namespace cambrian::vulkan
