#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "cambrian/engine/backend/backend.hpp"

namespace cambrian::cpu {

/// Memory from the system on 64-byte boundaries, in size classes of 1/8 of a power of two, so that
/// an allocation wastes an eighth at most. What is given back is kept for the next allocation of
/// its class: a program that allocates and frees the same sizes again and again reaches the system
/// once. No more is kept than `max_held` leaves; the largest blocks go first.
class MemoryPool {
  public:
    MemoryPool() = default;
    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;
    ~MemoryPool() { trim(); }

    /// Bytes of the class that a size falls into: a multiple of 64.
    [[nodiscard]] static std::int64_t class_bytes(std::int64_t bytes);
    /// Contents are undefined. Null when the system has no more.
    [[nodiscard]] std::byte* take(std::int64_t bytes) noexcept;
    /// Takes back what `take` gave for so many bytes.
    void give(std::byte* memory, std::int64_t bytes) noexcept;
    /// Gives everything that is kept back to the system.
    void trim() noexcept { keep(0); }

    [[nodiscard]] std::int64_t pooled() const { return pooled_; }  ///< Bytes that are kept.
    /// Taken from the system so far.
    [[nodiscard]] std::int64_t allocations() const { return allocations_; }
    /// Bytes that may be in use and kept together; 0: twice as many as ever were in use at once,
    /// and 64 MiB at least.
    void set_max_held(std::int64_t bytes) { max_held_ = bytes; }
    /// For tests: asked before memory is taken from the system; true: there is none.
    void set_refusal(std::function<bool()> refuses) { refuses_ = std::move(refuses); }

  private:
    /// Kept blocks of a class are a list that lies in the blocks themselves.
    struct Kept {
        Kept* next;
    };
    static constexpr std::size_t classes = 512;
    [[nodiscard]] static std::size_t class_of(std::int64_t bytes);
    /// Gives the largest blocks back until no more than so many bytes are kept.
    void keep(std::int64_t most) noexcept;
    [[nodiscard]] std::int64_t max_pooled() const;

    std::array<Kept*, classes> kept_{};
    std::int64_t pooled_ = 0;
    std::int64_t in_use_ = 0;
    std::int64_t max_in_use_ = 0;
    std::int64_t max_held_ = 0;
    std::int64_t allocations_ = 0;
    std::function<bool()> refuses_;
};

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
