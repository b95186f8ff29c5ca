#include "cambrian/tests/support/refused_allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

// Every allocation of a program comes through here, so that any of them can be made to fail.
namespace {

std::atomic<bool> watched{false};  ///< By a RefusedAllocations.
std::atomic<long> left{0};         ///< Allocations before the one that fails.
std::atomic<long> failing{0};
std::atomic<bool> failed{false};
std::atomic<long> alive{0};

bool refused() {
    if (left.fetch_sub(1) > 0) return false;
    left = 0;
    if (failing.fetch_sub(1) <= 0) return false;
    failed = true;
    return true;
}

void* allocated_or_null(std::size_t bytes) noexcept {
    const bool counts = watched.load(std::memory_order_relaxed);
    if (counts && refused()) return nullptr;
    void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
    if (counts && memory != nullptr) alive.fetch_add(1, std::memory_order_relaxed);
    return memory;
}

void* allocated(std::size_t bytes) {
    void* const memory = allocated_or_null(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

void freed(void* memory) {
    if (memory == nullptr) return;
    if (watched.load(std::memory_order_relaxed)) alive.fetch_sub(1, std::memory_order_relaxed);
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
    return allocated(bytes);
}
void* operator new[](std::size_t bytes) {
    return allocated(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocated_or_null(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocated_or_null(bytes);
}
void operator delete(void* memory) noexcept {
    freed(memory);
}
void operator delete[](void* memory) noexcept {
    freed(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    freed(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    freed(memory);
}

namespace cambrian::test {

RefusedAllocations::RefusedAllocations(long before, long count) {
    left = before;
    failing = count;
    failed = false;
    alive = 0;
    watched = true;
}

RefusedAllocations::~RefusedAllocations() {
    watched = false;
}

bool RefusedAllocations::any() const {
    return failed;
}

long RefusedAllocations::left_over() const {
    return alive;
}

}  // namespace cambrian::test
