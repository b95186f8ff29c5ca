#include "cambrian/gpu/vulkan/recorder.hpp"

#include <algorithm>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/vulkan/address_book.hpp"
#include "cambrian/gpu/vulkan/device.hpp"
#include "cambrian/gpu/vulkan/pipeline.hpp"
#include "cambrian/gpu/vulkan/profile.hpp"

namespace cambrian::vulkan {

namespace {

constexpr VkPipelineStageFlags work_stages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags work_writes = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags work_accesses =
    work_writes | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

bool overlap(const Range& a, const Range& b) {
    return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

bool touches(std::span<const Range> ranges, const Range& range) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&range](const Range& other) { return overlap(other, range); });
}

bool touches(std::span<const Range> ranges, std::span<const Range> others) {
    return std::any_of(others.begin(), others.end(),
                       [ranges](const Range& other) { return touches(ranges, other); });
}

/// Adds a range; one that meets an earlier one only makes that longer.
void add(std::vector<Range>& ranges, const Range& range) {
    if (range.bytes == 0) return;
    for (Range& other : ranges) {
        if (range.address > other.address + other.bytes ||
            other.address > range.address + range.bytes)
            continue;
        const std::uint64_t end =
            std::max(other.address + other.bytes, range.address + range.bytes);
        other.address = std::min(other.address, range.address);
        other.bytes = end - other.address;
        return;
    }
    ranges.push_back(range);
}

std::uint64_t bytes_of(std::span<const Range> ranges) {
    std::uint64_t bytes = 0;
    for (const Range& range : ranges) bytes += range.bytes;
    return bytes;
}

void memory_barrier(const Functions& functions, VkCommandBuffer commands,
                    VkPipelineStageFlags to_stages, VkAccessFlags to_accesses) {
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = work_writes;
    barrier.dstAccessMask = to_accesses;
    functions.vkCmdPipelineBarrier(commands, work_stages, to_stages, 0, 1, &barrier, 0, nullptr, 0,
                                   nullptr);
}

}  // namespace

Recorder::Recorder(Device& device) : device_(device) {
    const Functions& functions = device_.functions();
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.queueFamilyIndex = device_.queue_family();
    device_.check(functions.vkCreateCommandPool(device_.handle(), &pool, nullptr, &pool_),
                  "vkCreateCommandPool");
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    const VkResult result = functions.vkAllocateCommandBuffers(device_.handle(), &info, &commands_);
    if (result == VK_SUCCESS) return;
    functions.vkDestroyCommandPool(device_.handle(), pool_, nullptr);
    device_.check(result, "vkAllocateCommandBuffers");
}

Recorder::~Recorder() {
    if (device_.profile() != nullptr) device_.profile()->forget(commands_);
    device_.functions().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
}

void Recorder::begin() {
    const Functions& functions = device_.functions();
    device_.check(functions.vkResetCommandPool(device_.handle(), pool_, 0), "vkResetCommandPool");
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    // A program may be started again before its last run is done.
    info.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    device_.check(functions.vkBeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer");
    touched_ = {};
    bound_ = VK_NULL_HANDLE;
    dispatches_ = 0;
    barriers_ = 0;
    if (device_.profile() != nullptr) device_.profile()->begin(commands_);
}

void Recorder::dispatch(const Pipeline& pipeline, const Push& push, std::uint64_t groups,
                        std::span<const Range> reads, std::span<const Range> writes) {
    CAMBRIAN_EXPECT(groups > 0);
    CAMBRIAN_ASSERT(groups <= std::numeric_limits<std::uint32_t>::max());
    const Functions& functions = device_.functions();
    order(reads, writes);
    if (bound_ != pipeline.handle()) {
        functions.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle());
        bound_ = pipeline.handle();
    }
    Push part = push;
    const std::uint64_t max_groups = device_.limits().max_groups;
    before(pipeline.name(), bytes_of(reads) + bytes_of(writes));
    for (std::uint64_t first = 0; first < groups; first += max_groups) {
        ++dispatches_;
        part.word[Push::first_group] = static_cast<std::uint32_t>(first);
        functions.vkCmdPushConstants(commands_, device_.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                     sizeof part, &part);
        functions.vkCmdDispatch(
            commands_, static_cast<std::uint32_t>(std::min(max_groups, groups - first)), 1, 1);
    }
    after();
}

void Recorder::copy(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
    if (bytes == 0) return;
    const AddressBook::Location source = device_.addresses().find(from, bytes);
    const AddressBook::Location target = device_.addresses().find(to, bytes);
    const Range read{from, bytes};
    const Range written{to, bytes};
    CAMBRIAN_EXPECT(!overlap(read, written));
    order({&read, 1}, {&written, 1});
    VkBufferCopy region{};
    region.srcOffset = source.offset;
    region.dstOffset = target.offset;
    region.size = bytes;
    before("copy", 2 * bytes);
    device_.functions().vkCmdCopyBuffer(commands_, source.buffer, target.buffer, 1, &region);
    after();
}

void Recorder::copy(std::span<const Copy> copies) {
    constexpr std::uint64_t highest = std::numeric_limits<std::uint64_t>::max();
    Range read{highest, 0};
    Range written{highest, 0};
    const auto reach = [](Range& range, std::uint64_t address, std::uint64_t bytes) {
        // `bytes` holds the end until all copies are seen.
        range.address = std::min(range.address, address);
        range.bytes = std::max(range.bytes, address + bytes);
    };
    for (const Copy& copy : copies) {
        reach(read, copy.from, copy.bytes);
        reach(written, copy.to, copy.bytes);
    }
    if (copies.empty()) return;
    std::uint64_t bytes = 0;
    for (const Copy& copy : copies) bytes += 2 * copy.bytes;
    read.bytes -= read.address;
    written.bytes -= written.address;
    order({&read, 1}, {&written, 1});
    before("copy", bytes);
    std::vector<VkBufferCopy> regions;
    for (std::size_t i = 0; i < copies.size();) {
        const VkBuffer source = device_.addresses().find(copies[i].from, copies[i].bytes).buffer;
        const VkBuffer target = device_.addresses().find(copies[i].to, copies[i].bytes).buffer;
        regions.clear();
        for (; i < copies.size(); ++i) {
            const auto from = device_.addresses().find(copies[i].from, copies[i].bytes);
            const auto to = device_.addresses().find(copies[i].to, copies[i].bytes);
            if (from.buffer != source || to.buffer != target) break;
            regions.push_back({from.offset, to.offset, copies[i].bytes});
        }
        device_.functions().vkCmdCopyBuffer(
            commands_, source, target, static_cast<std::uint32_t>(regions.size()), regions.data());
    }
    after();
}

void Recorder::fill(std::uint64_t address, std::uint64_t bytes, std::uint32_t word) {
    CAMBRIAN_EXPECT(bytes % sizeof word == 0);
    if (bytes == 0) return;
    const AddressBook::Location target = device_.addresses().find(address, bytes);
    const Range written{address, bytes};
    order({}, {&written, 1});
    before("fill", bytes);
    device_.functions().vkCmdFillBuffer(commands_, target.buffer, target.offset, bytes, word);
    after();
}

void Recorder::end() {
    // Also orders a later submission after this one: barriers reach over command buffers.
    memory_barrier(device_.functions(), commands_, work_stages | VK_PIPELINE_STAGE_HOST_BIT,
                   work_accesses | VK_ACCESS_HOST_READ_BIT);
    device_.check(device_.functions().vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
    device_.check_validation();
}

void Recorder::order(std::span<const Range> reads, std::span<const Range> writes) {
    if (touches(touched_.written, reads) || touches(touched_.written, writes) ||
        touches(touched_.read, writes) || device_.profile() != nullptr)
        barrier();
    for (const Range& range : reads) add(touched_.read, range);
    for (const Range& range : writes) add(touched_.written, range);
}

void Recorder::barrier() {
    memory_barrier(device_.functions(), commands_, work_stages, work_accesses);
    ++barriers_;
    touched_.read.clear();
    touched_.written.clear();
}

void Recorder::before(std::string_view kernel, std::uint64_t bytes) {
    if (device_.profile() == nullptr) return;
    std::string name(kernel);
    if (!op_.empty()) name.append(" of ").append(op_);
    device_.profile()->before(commands_, name, bytes);
}

void Recorder::after() {
    if (device_.profile() != nullptr) device_.profile()->after(commands_);
}

}  // namespace cambrian::vulkan
