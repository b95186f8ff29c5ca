#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cambrian/engine/backend/backend.hpp"

namespace cambrian::cpu {

/// Counts the bytes a backend hands out; a limit of 0 means none.
struct MemoryAccount {
    std::int64_t used = 0;
    std::int64_t limit = 0;
};

/// Zero-filled memory on a 64-byte boundary, charged to an account for as long as it lives.
class Memory {
  public:
    Memory() = default;
    /// Throws DeviceError when the limit would be passed or the system has no memory left; the
    /// account is then unchanged.
    Memory(MemoryAccount& account, std::int64_t bytes);
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory();

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  private:
    MemoryAccount* account_ = nullptr;
    std::byte* data_ = nullptr;
    std::int64_t bytes_ = 0;
};

/// A buffer in host memory, one 4-byte word an element.
class CpuBuffer : public Buffer {
  public:
    CpuBuffer(MemoryAccount& account, ValueType type, std::int64_t elements);

    [[nodiscard]] ValueType type() const override { return type_; }
    [[nodiscard]] std::int64_t elements() const override { return elements_; }
    [[nodiscard]] std::byte* data() const { return memory_.data(); }

  private:
    Memory memory_;
    ValueType type_;
    std::int64_t elements_;
};

}  // namespace cambrian::cpu
