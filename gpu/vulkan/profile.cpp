#include "cambrian/gpu/vulkan/profile.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::vulkan {

namespace {

constexpr std::size_t commands_per_pool = 1024;
constexpr double seconds_per_nanosecond = 1e-9;

VkQueryPool make_pool(Device& device) {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2 * commands_per_pool;
    VkQueryPool pool = VK_NULL_HANDLE;
    device.check(device.functions().vkCreateQueryPool(device.handle(), &info, nullptr, &pool),
                 "vkCreateQueryPool");
    return pool;
}

}  // namespace

Device::Profile::~Profile() {
    while (!recordings_.empty()) forget(recordings_.begin()->first);
}

void Device::Profile::begin(VkCommandBuffer commands) {
    recordings_[commands].commands.clear();
}

void Device::Profile::before(VkCommandBuffer commands, std::string_view kernel,
                             std::uint64_t bytes) {
    Recording& recording = recordings_[commands];
    const std::size_t command = recording.commands.size();
    const std::size_t pool = command / commands_per_pool;
    if (pool == recording.pools.size()) recording.pools.push_back(make_pool(device_));
    const auto query = static_cast<std::uint32_t>(2 * (command % commands_per_pool));
    if (query == 0) {
        device_.functions().vkCmdResetQueryPool(commands, recording.pools[pool], 0,
                                                2 * commands_per_pool);
    }
    recording.commands.push_back({std::string(kernel), bytes});
    device_.functions().vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                                            recording.pools[pool], query);
}

void Device::Profile::after(VkCommandBuffer commands) {
    const Recording& recording = recordings_[commands];
    CAMBRIAN_EXPECT(!recording.commands.empty());
    const std::size_t command = recording.commands.size() - 1;
    device_.functions().vkCmdWriteTimestamp(
        commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
        recording.pools[command / commands_per_pool],
        static_cast<std::uint32_t>(2 * (command % commands_per_pool) + 1));
}

void Device::Profile::collect(VkCommandBuffer commands) {
    const auto found = recordings_.find(commands);
    if (found == recordings_.end()) return;
    const Recording& recording = found->second;
    for (std::size_t first = 0; first < recording.commands.size(); first += commands_per_pool) {
        const std::size_t count = std::min(commands_per_pool, recording.commands.size() - first);
        std::vector<std::uint64_t> ticks(2 * count);
        device_.check(device_.functions().vkGetQueryPoolResults(
                          device_.handle(), recording.pools[first / commands_per_pool], 0,
                          static_cast<std::uint32_t>(2 * count),
                          ticks.size() * sizeof(std::uint64_t), ticks.data(), sizeof(std::uint64_t),
                          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                      "vkGetQueryPoolResults");
        for (std::size_t i = 0; i < count; ++i) {
            const auto& [kernel, bytes] = recording.commands[first + i];
            Sum& sum = sums_[kernel];
            ++sum.dispatches;
            sum.bytes += bytes;
            sum.seconds += static_cast<double>(ticks[2 * i + 1] - ticks[2 * i]) *
                           device_.limits().timestamp_nanoseconds * seconds_per_nanosecond;
        }
    }
}

void Device::Profile::forget(VkCommandBuffer commands) noexcept {
    const auto found = recordings_.find(commands);
    if (found == recordings_.end()) return;
    for (VkQueryPool pool : found->second.pools)
        device_.functions().vkDestroyQueryPool(device_.handle(), pool, nullptr);
    recordings_.erase(found);
}

std::vector<KernelTime> Device::Profile::take() {
    std::vector<KernelTime> times;
    for (const auto& [kernel, sum] : std::exchange(sums_, {}))
        times.push_back(
            {kernel, sum.dispatches, sum.seconds, static_cast<std::int64_t>(sum.bytes)});
    std::stable_sort(times.begin(), times.end(), [](const KernelTime& a, const KernelTime& b) {
        return a.seconds > b.seconds;
    });
    return times;
}

}  // namespace cambrian::vulkan
