#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "cambrian/gpu/vulkan/memory.hpp"

namespace cambrian::vulkan {

/// One allocation from the driver with one buffer over it, and the gaps that are left in it.
struct Heap::Slab {
    /// Throws DeviceError; `no_memory` is set first when the driver has no more.
    Slab(Device& owner, MemoryKind wanted, std::int64_t size, bool& no_memory);
    ~Slab();
    Slab(const Slab&) = delete;
    Slab& operator=(const Slab&) = delete;

    [[nodiscard]] bool empty() const { return gaps.size() == 1 && gaps.begin()->second == bytes; }
    /// Takes the front of the gap at `offset`.
    void take(std::int64_t offset, std::int64_t size);
    /// Gives back what was taken; neighbouring gaps become one.
    void give(std::int64_t offset, std::int64_t size);

    Device& device;
    MemoryKind kind;
    std::int64_t bytes = 0;
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::uint64_t address = 0;
    std::byte* host = nullptr;
    std::map<std::int64_t, std::int64_t> gaps;  ///< Bytes by offset; no two touch.

  private:
    void make_buffer(bool& no_memory);
    void allocate(bool& no_memory);
    void close() noexcept;
};

}  // namespace cambrian::vulkan
