#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

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

}  // namespace cambrian::cpu
