#include "cambrian/engine/eager/buffer_pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

BufferPool::Held BufferPool::allocate(const Size& size) {
    const std::int64_t before = backend_.memory().used;
    Held held{backend_.allocate(size.type, size.elements), 0};
    held.bytes = backend_.memory().used - before;
    return held;
}

std::shared_ptr<Buffer> BufferPool::take(ValueType type, std::int64_t elements) {
    const Size size{type, elements};
    const auto free = free_.find(size);
    Held held;
    if (free != free_.end() && !free->second.empty()) {
        held = std::move(free->second.back());
        free->second.pop_back();
        pooled_bytes_ -= held.bytes;
        ++hits_;
    } else {
        try {
            held = allocate(size);
        } catch (const OutOfMemoryError&) {
            if (pooled_bytes_ == 0) throw;
            clear();
            held = allocate(size);
        }
        ++misses_;
    }
    live_bytes_ += held.bytes;
    note_temporaries(0);
    return {held.buffer.release(), [pool = weak_from_this(), bytes = held.bytes](Buffer* ended) {
                Held back{std::unique_ptr<Buffer>(ended), bytes};
                if (const auto home = pool.lock()) home->put_back(std::move(back));
            }};
}

void BufferPool::put_back(Held held) noexcept {
    live_bytes_ -= held.bytes;
    if (pooled_bytes_ + held.bytes > max_pooled_bytes_) return;
    const std::int64_t bytes = held.bytes;
    try {
        free_[{held.buffer->type(), held.buffer->elements()}].push_back(std::move(held));
        pooled_bytes_ += bytes;
    } catch (const std::bad_alloc&) {
        // The buffer ends instead of waiting.
    }
}

void BufferPool::note_temporaries(std::int64_t bytes) {
    peak_bytes_ = std::max(peak_bytes_, live_bytes_ + pooled_bytes_ + bytes);
}

void BufferPool::clear() {
    free_.clear();
    pooled_bytes_ = 0;
}

void BufferPool::count(EagerStatistics& statistics) const {
    statistics.buffer_hits = hits_;
    statistics.buffer_misses = misses_;
    statistics.live_bytes = live_bytes_;
    statistics.pooled_bytes = pooled_bytes_;
    statistics.peak_bytes = peak_bytes_;
}

}  // namespace cambrian
