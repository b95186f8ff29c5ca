#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cambrian/gpu/vulkan/loader.hpp"

namespace cambrian::vulkan {

class Device;
class Heap;

enum class MemoryKind : std::uint8_t {
    device,    ///< Fast for the device; the host does not see it.
    upload,    ///< Written by the host, read by copies.
    readback,  ///< Written by copies, read by the host (cached).
};

/// A part of a slab; returns it when it ends. Movable.
class Block {
  public:
    Block() = default;
    Block(Block&& other) noexcept;
    Block& operator=(Block&& other) noexcept;
    ~Block();

    [[nodiscard]] std::uint64_t address() const { return address_; }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }
    /// Null for MemoryKind::device.
    [[nodiscard]] std::byte* host() const { return host_; }

  private:
    friend class Heap;
    Heap* heap_ = nullptr;
    void* slab_ = nullptr;  ///< Heap::Slab
    std::int64_t offset_ = 0;
    std::int64_t bytes_ = 0;
    std::uint64_t address_ = 0;
    std::byte* host_ = nullptr;
};

/// Memory of one device: large slabs from the driver, blocks of them (multiples of 256 bytes, best
/// fit, neighbours merged when freed) for everything else. Device memory counts against the limit.
class Heap {
  public:
    /// @param limit bytes of device memory; 0: none.
    Heap(Device& device, std::int64_t limit);
    ~Heap();
    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;

    /// Contents are undefined. Throws OutOfMemoryError when the limit would be passed or the driver
    /// has no more; then nothing has changed.
    [[nodiscard]] Block allocate(MemoryKind kind, std::int64_t bytes);
    /// Returns empty slabs to the driver.
    void trim();

    [[nodiscard]] std::int64_t used() const { return used_; }  ///< Bytes in device blocks.
    [[nodiscard]] std::int64_t limit() const { return limit_; }
    /// Bytes of device memory from the driver that no block is in.
    [[nodiscard]] std::int64_t pooled() const { return device_slab_bytes_ - used_; }
    [[nodiscard]] std::int64_t driver_allocations() const { return driver_allocations_; }
    /// Changes when memory goes back to the driver: command buffers recorded before may name
    /// buffers that are no more, even where the same addresses are in use again.
    [[nodiscard]] std::uint64_t generation() const { return generation_; }

  private:
    friend class Block;
    struct Slab;
    void release(const Block& block) noexcept;
    /// The slab and the offset of the smallest gap that fits; null when none does.
    [[nodiscard]] Slab* find_gap(MemoryKind kind, std::int64_t bytes, std::int64_t& offset) const;
    /// False when the driver has no memory for it.
    [[nodiscard]] bool try_slab(MemoryKind kind, std::int64_t bytes);
    [[nodiscard]] Slab* add_slab(MemoryKind kind, std::int64_t bytes);
    [[nodiscard]] std::int64_t new_slab_bytes(MemoryKind kind, std::int64_t bytes) const;

    Device& device_;
    std::int64_t limit_;
    std::int64_t used_ = 0;
    std::int64_t device_slab_bytes_ = 0;
    std::int64_t driver_allocations_ = 0;
    std::uint64_t generation_ = 0;
    std::vector<std::unique_ptr<Slab>> slabs_;
};

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
