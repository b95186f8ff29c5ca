#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/cpu/execution/memory_pool.hpp"

namespace cambrian::cpu {

/// Counts what a backend hands out; a limit of 0 means none.
struct MemoryAccount {
    std::int64_t used = 0;
    std::int64_t limit = 0;
    std::int64_t buffers = 0;
    std::int64_t programs = 0;
    bool poison = false;  ///< Freed memory, and what nobody wants cleared, is filled with poison.
    MemoryPool pool;
};

/// What memory holds when it is made.
enum class Fill : std::uint8_t { zeros, anything };

/// Memory on a 64-byte boundary, charged to an account for as long as it lives.
class Memory {
  public:
    Memory() = default;
    /// Throws OutOfMemoryError when the limit would be passed or the system has no more; the
    /// account is then unchanged.
    Memory(MemoryAccount& account, std::int64_t bytes, Fill fill = Fill::zeros);
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory();

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }
    /// Fills it with poison.
    void poison() const;

  private:
    MemoryAccount* account_ = nullptr;
    std::byte* data_ = nullptr;
    std::int64_t bytes_ = 0;
};

/// A buffer in host memory, one 4-byte word an element.
class CpuBuffer : public Buffer {
  public:
    CpuBuffer(MemoryAccount& account, ValueType type, std::int64_t elements);
    ~CpuBuffer() override { --account_->buffers; }
    CpuBuffer(const CpuBuffer&) = delete;
    CpuBuffer& operator=(const CpuBuffer&) = delete;

    [[nodiscard]] ValueType type() const override { return type_; }
    [[nodiscard]] std::int64_t elements() const override { return elements_; }
    [[nodiscard]] std::byte* data() const { return memory_.data(); }

  private:
    MemoryAccount* account_;
    Memory memory_;
    ValueType type_;
    std::int64_t elements_;
};

}  // namespace cambrian::cpu
