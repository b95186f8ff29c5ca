#pragma once

#include <cstdint>
#include <map>

#include "cambrian/gpu/vulkan/loader.hpp"

namespace cambrian::vulkan {

/// The buffers of a device by their addresses: kernels take addresses, copies take buffers.
class AddressBook {
  public:
    struct Location {
        VkBuffer buffer = VK_NULL_HANDLE;
        std::uint64_t offset = 0;
    };

    void add(std::uint64_t address, std::uint64_t bytes, VkBuffer buffer);
    void remove(std::uint64_t address) noexcept;
    /// Contract: all bytes are inside one buffer.
    [[nodiscard]] Location find(std::uint64_t address, std::uint64_t bytes) const;

  private:
    struct Entry {
        std::uint64_t bytes = 0;
        VkBuffer buffer = VK_NULL_HANDLE;
    };
    std::map<std::uint64_t, Entry> entries_;  ///< By first address.
};

}  // namespace cambrian::vulkan
