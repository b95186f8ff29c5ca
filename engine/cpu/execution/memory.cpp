#include "cambrian/engine/cpu/execution/memory.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/host_memory.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian::cpu {

namespace {

constexpr std::int64_t boundary = 64;
std::int64_t word_count_bytes(std::int64_t elements) {
    CAMBRIAN_ASSERT(elements >= 0);
    if (elements > std::numeric_limits<std::int64_t>::max() / (2 * word_bytes)) {
        throw DeviceError("cannot allocate " + std::to_string(elements) +
                          " elements (more than memory can address) use a smaller population");
    }
    return elements * word_bytes;
}

}  // namespace

Memory::Memory(MemoryAccount& account, std::int64_t bytes, Fill fill) : account_(&account) {
    const std::int64_t rounded = (bytes + boundary - 1) / boundary * boundary;
    if (account.limit > 0 && rounded > account.limit - account.used) {
        throw OutOfMemoryError(
            "cannot allocate " + std::to_string(rounded) + " bytes (" +
            std::to_string(account.used) + " of the limit of " + std::to_string(account.limit) +
            " bytes are in use) raise the memory limit or evaluate fewer individuals at once");
    }
    if (rounded == 0) {
        return;
    }
    data_ = account.pool.take(rounded);
    if (data_ == nullptr) {
        throw OutOfMemoryError("cannot allocate " + std::to_string(rounded) +
                               " bytes (the system is out of memory, " +
                               std::to_string(account.used) +
                               " bytes are in use here) evaluate fewer individuals at once");
    }
    bytes_ = rounded;
    account.used += rounded;
    if (fill == Fill::zeros) {
        std::memset(data_, 0, static_cast<std::size_t>(rounded));
    } else if (account.poison) {
        poison();
    }
}

void Memory::poison() const {
    std::fill_n(reinterpret_cast<std::uint32_t*>(data_), bytes_ / word_bytes, poison_word);
}

Memory::Memory(Memory&& other) noexcept
    : account_(std::exchange(other.account_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Memory::~Memory() {
    if (data_ != nullptr) {
        account_->used -= bytes_;
        if (account_->poison) {
            poison();
        }
        account_->pool.give(data_, bytes_);
    }
}

CpuBuffer::CpuBuffer(MemoryAccount& account, ValueType type, std::int64_t elements)
    : account_(&account),
      memory_(account, word_count_bytes(elements)),
      type_(type),
      elements_(elements) {
    ++account.buffers;
}

}  // namespace cambrian::cpu
