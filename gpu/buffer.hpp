#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/gpu/execution/transfer.hpp"

namespace cambrian::gpu {

/// Host memory that a program's last commands fill.
struct Readback {
    vulkan::Block block;
};

/// A buffer on the device, one word an element, with copies on the host of what runs have written
/// since.
class DeviceBuffer : public Buffer {
  public:
    DeviceBuffer(Transfer& transfer, ValueType type, std::int64_t elements);
    ~DeviceBuffer() override { --transfer_.live().buffers; }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    [[nodiscard]] ValueType type() const override { return type_; }
    [[nodiscard]] std::int64_t elements() const override { return elements_; }
    [[nodiscard]] const Memory& memory() const { return memory_; }
    [[nodiscard]] std::uint64_t address(std::int64_t first) const;
    /// Contract: [first, first + count) lies inside.
    void require_inside(std::int64_t first, std::int64_t count) const;

    void read_by(vulkan::Ticket ticket) { memory_.read_by(ticket); }
    void written_by(vulkan::Ticket ticket) { memory_.written_by(ticket); }
    /// The elements change: copies of them are worth nothing any more.
    void written(std::int64_t first, std::int64_t count);

    /// Elements of this buffer that lie, or will lie, at `host` when a submission is done.
    struct Mirror {
        std::int64_t first = 0;
        std::int64_t count = 0;
        const std::byte* host = nullptr;
        vulkan::Ticket ticket = 0;
        std::shared_ptr<const Readback> keep;
    };
    /// Adds a copy of elements that are in no other copy.
    void mirror(Mirror added);
    /// The copies that hold [first, first + count) together, in order; empty when some is in none.
    [[nodiscard]] std::span<const Mirror> mirrors(std::int64_t first, std::int64_t count) const;

  private:
    Transfer& transfer_;
    Memory memory_;
    ValueType type_;
    std::int64_t elements_;
    std::vector<Mirror> mirrors_;  ///< Sorted, without overlap.
};

}  // namespace cambrian::gpu
