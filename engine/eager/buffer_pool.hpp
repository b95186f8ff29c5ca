#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/eager/eager_options.hpp"

namespace cambrian {

/// Buffers of a backend that come back when the last tensor that holds one ends, and serve the next
/// tensor of the same type and number of elements.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
  public:
    BufferPool(Backend& backend, std::int64_t max_pooled_bytes)
        : backend_(backend), max_pooled_bytes_(max_pooled_bytes) {}

    /// What it holds is anything. Where the backend has no more, the pool is emptied first; then
    /// throws OutOfMemoryError. After the pool has ended, the buffer ends with its last holder.
    [[nodiscard]] std::shared_ptr<Buffer> take(ValueType type, std::int64_t elements);
    /// Bytes of temporaries beside the buffers, for the peak.
    void note_temporaries(std::int64_t bytes);
    void clear();
    /// Fills in what it counts.
    void count(EagerStatistics& statistics) const;

  private:
    struct Size {
        ValueType type = ValueType::real;
        std::int64_t elements = 0;
        auto operator<=>(const Size&) const = default;
    };
    struct Held {
        std::unique_ptr<Buffer> buffer;
        std::int64_t bytes = 0;  ///< As the backend counts it.
    };

    [[nodiscard]] Held allocate(const Size& size);
    void put_back(Held held) noexcept;

    Backend& backend_;
    std::int64_t max_pooled_bytes_;
    std::map<Size, std::vector<Held>> free_;
    std::int64_t live_bytes_ = 0;
    std::int64_t pooled_bytes_ = 0;
    std::int64_t peak_bytes_ = 0;
    std::int64_t hits_ = 0;
    std::int64_t misses_ = 0;
};

}  // namespace cambrian
