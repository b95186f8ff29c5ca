#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"

namespace cambrian::evolve {

/// Memory of a backend for the weights of individuals: rows of few sizes in slabs. A row is free
/// again when its last owner drops it, on any thread; all else is for the thread of the backend.
/// Outlives its rows.
class WeightRows {
  public:
    class Row {
      public:
        Row(WeightRows& owner, std::int64_t size, Binding place)
            : owner_(owner), size_(size), place_(place) {}
        ~Row() { owner_.give_back(size_, place_); }
        Row(const Row&) = delete;
        Row& operator=(const Row&) = delete;

        /// Of its first element.
        [[nodiscard]] const Binding& place() const { return place_; }

      private:
        WeightRows& owner_;
        std::int64_t size_;
        Binding place_;
    };

    explicit WeightRows(Backend& backend) : backend_(backend) {}
    ~WeightRows();
    WeightRows(const WeightRows&) = delete;
    WeightRows& operator=(const WeightRows&) = delete;

    /// So many rows of at least so many elements each, with undefined contents; none at all where
    /// memory is short.
    [[nodiscard]] std::vector<std::shared_ptr<const Row>> take(
        const std::vector<std::int64_t>& elements);
    /// Frees slabs without a row in use.
    void trim() { trim({}); }
    /// Elements of all slabs.
    [[nodiscard]] std::int64_t held() const { return held_; }

  private:
    struct Size {
        std::vector<std::unique_ptr<Buffer>> slabs;
        std::vector<Binding> free;
    };
    void give_back(std::int64_t size, Binding place) noexcept;
    /// Room for more rows; false where memory is short.
    using Wanted = std::map<std::int64_t, std::int64_t>;  ///< Rows, by size.
    [[nodiscard]] bool grow(std::int64_t size, const Wanted& wanted);
    /// Frees slabs without a row in use, but for those of sizes that are wanted.
    void trim(const Wanted& wanted);

    Backend& backend_;
    std::mutex mutex_;  ///< Of the free rows.
    std::map<std::int64_t, Size> sizes_;
    std::int64_t held_ = 0;
};

using SharedRow = std::shared_ptr<const WeightRows::Row>;

}  // namespace cambrian::evolve
