#include "cambrian/gpu/vulkan/memory.hpp"

#include <bit>
#include <iterator>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/vulkan/address_book.hpp"
#include "cambrian/gpu/vulkan/device.hpp"

namespace cambrian::vulkan {

namespace {

constexpr VkMemoryPropertyFlags host_flags =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

bool is_out_of_memory(VkResult result) {
    return result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY;
}

struct Wish {
    VkMemoryPropertyFlags needed = 0;
    VkMemoryPropertyFlags welcome = 0;
};

Wish wish(MemoryKind kind) {
    if (kind == MemoryKind::device) return {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
    if (kind == MemoryKind::upload) return {host_flags, 0};
    return {host_flags, VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
}

/// The type that has all that is needed, most that is welcome and least besides.
std::uint32_t find_type(Device& device, MemoryKind kind, std::uint32_t allowed) {
    VkPhysicalDeviceMemoryProperties properties{};
    vkGetPhysicalDeviceMemoryProperties(device.physical(), &properties);
    const Wish wanted = wish(kind);
    std::uint32_t best = properties.memoryTypeCount;
    int best_cost = std::numeric_limits<int>::max();
    for (std::uint32_t i = 0; i < properties.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags flags = properties.memoryTypes[i].propertyFlags;
        if ((allowed >> i & 1U) == 0 || (flags & wanted.needed) != wanted.needed) continue;
        const int lacking = std::popcount(wanted.welcome & ~flags);
        const int besides = std::popcount(flags & ~(wanted.needed | wanted.welcome));
        const int cost = 32 * lacking + besides;
        if (cost < best_cost) {
            best_cost = cost;
            best = i;
        }
    }
    if (best == properties.memoryTypeCount) {
        throw DeviceError(device.limits().device_name +
                          " cannot be used (no memory type is fit for buffers) update its driver");
    }
    return best;
}

}  // namespace

Heap::Slab::Slab(Device& owner, MemoryKind wanted, std::int64_t size, bool& no_memory)
    : device(owner), kind(wanted), bytes(size), gaps{{0, size}} {
    try {
        make_buffer(no_memory);
        allocate(no_memory);
    } catch (...) {
        close();
        throw;
    }
}

Heap::Slab::~Slab() {
    device.addresses().remove(address);
    close();
}

void Heap::Slab::make_buffer(bool& no_memory) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = static_cast<VkDeviceSize>(bytes);
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    const VkResult result =
        device.functions().vkCreateBuffer(device.handle(), &info, nullptr, &buffer);
    no_memory = is_out_of_memory(result);
    device.check(result, "vkCreateBuffer");
}

void Heap::Slab::allocate(bool& no_memory) {
    const Functions& functions = device.functions();
    VkMemoryRequirements requirements{};
    functions.vkGetBufferMemoryRequirements(device.handle(), buffer, &requirements);
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.pNext = &flags;
    info.allocationSize = requirements.size;
    info.memoryTypeIndex = find_type(device, kind, requirements.memoryTypeBits);
    const VkResult result = functions.vkAllocateMemory(device.handle(), &info, nullptr, &memory);
    no_memory = is_out_of_memory(result);
    device.check(result, "vkAllocateMemory");
    device.check(functions.vkBindBufferMemory(device.handle(), buffer, memory, 0),
                 "vkBindBufferMemory");
    if (kind != MemoryKind::device) {
        void* mapped = nullptr;
        device.check(functions.vkMapMemory(device.handle(), memory, 0, VK_WHOLE_SIZE, 0, &mapped),
                     "vkMapMemory");
        host = static_cast<std::byte*>(mapped);
    }
    VkBufferDeviceAddressInfo where{};
    where.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    where.buffer = buffer;
    address = functions.vkGetBufferDeviceAddress(device.handle(), &where);
    device.addresses().add(address, static_cast<std::uint64_t>(bytes), buffer);
}

void Heap::Slab::close() noexcept {
    // Freeing the memory also ends its mapping.
    if (buffer != VK_NULL_HANDLE)
        device.functions().vkDestroyBuffer(device.handle(), buffer, nullptr);
    if (memory != VK_NULL_HANDLE) device.functions().vkFreeMemory(device.handle(), memory, nullptr);
}

void Heap::Slab::take(std::int64_t offset, std::int64_t size) {
    const auto gap = gaps.find(offset);
    CAMBRIAN_ASSERT(gap != gaps.end() && gap->second >= size);
    const std::int64_t rest = gap->second - size;
    gaps.erase(gap);
    if (rest > 0) gaps.emplace(offset + size, rest);
}

void Heap::Slab::give(std::int64_t offset, std::int64_t size) {
    const auto next = gaps.upper_bound(offset);
    if (next != gaps.end() && offset + size == next->first) {
        size += next->second;
        gaps.erase(next);
    }
    const auto after = gaps.upper_bound(offset);
    if (after != gaps.begin()) {
        const auto previous = std::prev(after);
        if (previous->first + previous->second == offset) {
            previous->second += size;
            return;
        }
    }
    gaps.emplace(offset, size);
}

}  // namespace cambrian::vulkan
