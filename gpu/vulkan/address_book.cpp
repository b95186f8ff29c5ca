#include "cambrian/gpu/vulkan/address_book.hpp"

#include <iterator>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::vulkan {

void AddressBook::add(std::uint64_t address, std::uint64_t bytes, VkBuffer buffer) {
    entries_[address] = {bytes, buffer};
}

void AddressBook::remove(std::uint64_t address) noexcept {
    entries_.erase(address);
}

AddressBook::Location AddressBook::find(std::uint64_t address, std::uint64_t bytes) const {
    const auto next = entries_.upper_bound(address);
    CAMBRIAN_ASSERT(next != entries_.begin());
    const auto& [start, entry] = *std::prev(next);
    const std::uint64_t offset = address - start;
    CAMBRIAN_ASSERT(offset <= entry.bytes && bytes <= entry.bytes - offset);
    return {entry.buffer, offset};
}

}  // namespace cambrian::vulkan
