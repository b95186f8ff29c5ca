#include "cambrian/engine/cpu/execution/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::cpu {

namespace {

constexpr std::int64_t boundary = 64;
constexpr std::int64_t min_held = std::int64_t{64} << 20;
/// Classes between a power of two and the next one.
constexpr std::int64_t parts = 8;
/// Up to here a class is one multiple of the boundary, as an eighth would be less than one.
constexpr std::int64_t smallest_power = parts * boundary;

std::int64_t power_below(std::int64_t bytes) {
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
}

/// Large memory in large pages where the system has them: fewer addresses to translate.
std::byte* from_system(std::size_t bytes) noexcept {
    constexpr std::size_t page = std::size_t{2} << 20;
    constexpr auto line = static_cast<std::size_t>(boundary);
    void* memory = nullptr;
    if (::posix_memalign(&memory, bytes < page ? line : page, bytes) != 0) return nullptr;
    // Only advice: without it everything is as before.
    if (bytes >= page) ::madvise(memory, bytes / page * page, MADV_HUGEPAGE);
    return static_cast<std::byte*>(memory);
}

}  // namespace

std::int64_t MemoryPool::class_bytes(std::int64_t bytes) {
    const std::int64_t step = std::max(boundary, power_below(std::max(bytes, boundary)) / parts);
    return std::max(boundary, (bytes + step - 1) / step * step);
}

std::size_t MemoryPool::class_of(std::int64_t bytes) {
    const std::int64_t whole = class_bytes(bytes);
    if (whole < smallest_power) return static_cast<std::size_t>(whole / boundary);
    const std::int64_t power = power_below(whole);
    const int doublings = std::countr_zero(static_cast<std::uint64_t>(power / smallest_power));
    const std::int64_t part = std::max<std::int64_t>(1, power / parts);
    return static_cast<std::size_t>(parts * (1 + doublings) + (whole - power) / part);
}

std::int64_t MemoryPool::max_pooled() const {
    const std::int64_t held = max_held_ > 0 ? max_held_ : std::max(2 * max_in_use_, min_held);
    return std::max<std::int64_t>(0, held - in_use_);
}

std::byte* MemoryPool::take(std::int64_t bytes) noexcept {
    const std::int64_t whole = class_bytes(bytes);
    Kept*& first = kept_[class_of(bytes)];
    std::byte* memory = reinterpret_cast<std::byte*>(first);
    if (first != nullptr) {
        first = first->next;
        pooled_ -= whole;
    } else {
        if (refuses_ && refuses_()) return nullptr;
        in_use_ += whole;
        keep(max_pooled());
        in_use_ -= whole;
        memory = from_system(static_cast<std::size_t>(whole));
        if (memory == nullptr) return nullptr;
        ++allocations_;
    }
    in_use_ += whole;
    max_in_use_ = std::max(max_in_use_, in_use_);
    return memory;
}

void MemoryPool::give(std::byte* memory, std::int64_t bytes) noexcept {
    const std::int64_t whole = class_bytes(bytes);
    Kept*& first = kept_[class_of(bytes)];
    first = new (memory) Kept{first};
    pooled_ += whole;
    in_use_ -= whole;
    keep(max_pooled());
}

void MemoryPool::keep(std::int64_t most) noexcept {
    for (std::size_t index = classes; index-- > 0 && pooled_ > most;) {
        // The last classes are larger than any number of bytes.
        if (kept_[index] == nullptr) continue;
        const auto part = static_cast<std::int64_t>(index);
        const std::int64_t power = part < parts ? 0 : smallest_power << (part / parts - 1);
        const std::int64_t whole =
            part < parts ? part * boundary : power + part % parts * (power / parts);
        while (kept_[index] != nullptr && pooled_ > most) {
            Kept* const block = kept_[index];
            kept_[index] = block->next;
            pooled_ -= whole;
            std::free(block);  // NOLINT(cppcoreguidelines-no-malloc): pairs with posix_memalign
        }
    }
}

}  // namespace cambrian::cpu
