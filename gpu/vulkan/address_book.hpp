#pragma once

#include <cstdint>
#include <iterator>
#include <map>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/vulkan/loader.hpp"

namespace cambrian::vulkan {

/// The buffers of a device by their addresses: kernels take addresses, copies take buffers.
class AddressBook {
  public:
    struct Location {
        VkBuffer buffer = VK_NULL_HANDLE;
        std::uint64_t offset = 0;
    };

    void add(std::uint64_t address, std::uint64_t bytes, VkBuffer buffer) {
        entries_[address] = {bytes, buffer};
    }
    void remove(std::uint64_t address) noexcept { entries_.erase(address); }
    /// Contract: all bytes are inside one buffer.
    [[nodiscard]] Location find(std::uint64_t address, std::uint64_t bytes) const {
        const auto next = entries_.upper_bound(address);
        CAMBRIAN_ASSERT(next != entries_.begin());
        const auto& [start, entry] = *std::prev(next);
        const std::uint64_t offset = address - start;
        CAMBRIAN_ASSERT(offset <= entry.bytes && bytes <= entry.bytes - offset);
        return {entry.buffer, offset};
    }

  private:
    struct Entry {
        std::uint64_t bytes = 0;
        VkBuffer buffer = VK_NULL_HANDLE;
    };
    std::map<std::uint64_t, Entry> entries_;  ///< By first address.
};

}  // namespace cambrian::vulkan
