#include "cambrian/gpu/vulkan/memory.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/vulkan/device.hpp"

namespace cambrian::vulkan {

namespace {

constexpr std::int64_t alignment = 256;
constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
constexpr std::int64_t device_slab_bytes = 256 * mebibyte;
constexpr std::int64_t software_slab_bytes = 64 * mebibyte;
constexpr std::int64_t transfer_slab_bytes = 16 * mebibyte;

std::int64_t rounded_up(std::int64_t bytes) {
    CAMBRIAN_ASSERT(bytes >= 0);
    if (bytes > std::numeric_limits<std::int64_t>::max() / 2) {
        throw DeviceError("cannot allocate " + std::to_string(bytes) +
                          " bytes (more than a device can address) use a smaller population");
    }
    return std::max((bytes + alignment - 1) / alignment * alignment, alignment);
}

std::string bytes_text(std::int64_t bytes) {
    return std::to_string(bytes) + " bytes";
}

}  // namespace

Block::Block(Block&& other) noexcept {
    *this = std::move(other);
}

Block& Block::operator=(Block&& other) noexcept {
    std::swap(heap_, other.heap_);
    std::swap(slab_, other.slab_);
    std::swap(offset_, other.offset_);
    std::swap(bytes_, other.bytes_);
    std::swap(address_, other.address_);
    std::swap(host_, other.host_);
    return *this;
}

Block::~Block() {
    if (heap_ != nullptr) heap_->release(*this);
}

Heap::Heap(Device& device, std::int64_t limit) : device_(device), limit_(limit) {
    CAMBRIAN_ASSERT(limit >= 0);
}

Heap::~Heap() = default;

Block Heap::allocate(MemoryKind kind, std::int64_t bytes) {
    const std::int64_t wanted = rounded_up(bytes);
    const bool counts = kind == MemoryKind::device;
    if (counts && limit_ > 0 && wanted > limit_ - used_) {
        throw OutOfMemoryError(
            "cannot allocate " + bytes_text(wanted) + " of device memory (" +
            std::to_string(used_) + " of the limit of " + bytes_text(limit_) +
            " are in use) raise the memory limit or evaluate fewer individuals at "
            "once");
    }
    std::int64_t offset = 0;
    Slab* slab = find_gap(kind, wanted, offset);
    if (slab == nullptr) slab = add_slab(kind, wanted);
    slab->take(offset, wanted);
    if (counts) used_ += wanted;

    Block block;
    block.heap_ = this;
    block.slab_ = slab;
    block.offset_ = offset;
    block.bytes_ = wanted;
    block.address_ = slab->address + static_cast<std::uint64_t>(offset);
    block.host_ = slab->host == nullptr ? nullptr : slab->host + offset;
    return block;
}

Heap::Slab* Heap::find_gap(MemoryKind kind, std::int64_t bytes, std::int64_t& offset) const {
    Slab* best = nullptr;
    std::int64_t best_bytes = std::numeric_limits<std::int64_t>::max();
    for (const std::unique_ptr<Slab>& slab : slabs_) {
        if (slab->kind != kind) continue;
        for (const auto& [start, size] : slab->gaps) {
            if (size < bytes || size >= best_bytes) continue;
            best = slab.get();
            best_bytes = size;
            offset = start;
        }
    }
    return best;
}

std::int64_t Heap::new_slab_bytes(MemoryKind kind, std::int64_t bytes) const {
    if (kind != MemoryKind::device) return std::max(bytes, transfer_slab_bytes);
    std::int64_t size = device_.limits().software ? software_slab_bytes : device_slab_bytes;
    // What the limit leaves: another rank may have been given the rest of the device.
    if (limit_ > 0) size = std::min(size, (limit_ - device_slab_bytes_) / alignment * alignment);
    return std::max(bytes, size);
}

bool Heap::try_slab(MemoryKind kind, std::int64_t bytes) {
    bool no_memory = false;
    try {
        slabs_.push_back(std::make_unique<Slab>(device_, kind, bytes, no_memory));
    } catch (const OutOfMemoryError&) {
        if (!no_memory) throw;
    }
    return !no_memory;
}

Heap::Slab* Heap::add_slab(MemoryKind kind, std::int64_t bytes) {
    const bool counts = kind == MemoryKind::device;
    if (counts && limit_ > 0 && bytes > limit_ - device_slab_bytes_) trim();
    const std::int64_t size = new_slab_bytes(kind, bytes);
    if (!try_slab(kind, size) && (size == bytes || !try_slab(kind, bytes))) {
        throw OutOfMemoryError(
            "cannot allocate " + bytes_text(bytes) + " of " + (counts ? "device" : "transfer") +
            " memory (" + device_.limits().device_name + " has no more, " + std::to_string(used_) +
            " of its " + bytes_text(device_.limits().memory_bytes) +
            " are in use here) evaluate fewer individuals at once or let fewer ranks share the "
            "device");
    }
    ++driver_allocations_;
    Slab* slab = slabs_.back().get();
    if (counts) device_slab_bytes_ += slab->bytes;
    return slab;
}

void Heap::trim() {
    // Blocks may have been freed while a submission still used them.
    device_.wait_for_all();
    const auto returned = std::erase_if(slabs_, [this](const std::unique_ptr<Slab>& slab) {
        if (!slab->empty()) return false;
        if (slab->kind == MemoryKind::device) device_slab_bytes_ -= slab->bytes;
        return true;
    });
    if (returned > 0) ++generation_;
}

void Heap::release(const Block& block) noexcept {
    auto* slab = static_cast<Slab*>(block.slab_);
    slab->give(block.offset_, block.bytes_);
    if (slab->kind == MemoryKind::device) used_ -= block.bytes_;
}

}  // namespace cambrian::vulkan
