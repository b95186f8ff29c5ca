#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cambrian {

/// Sorts by numbers, equal ones in the order they came in: digit by digit of as many bits as the
/// largest number has, so that small numbers take one pass. Keeps its storage.
class RadixSort {
  public:
    struct Item {
        std::uint64_t key = 0;
        std::uint32_t value = 0;
    };

    /// To be filled, then sorted.
    [[nodiscard]] std::vector<Item>& items() { return items_; }

    /// @return the items, ascending.
    const std::vector<Item>& sort() {
        // A pass goes over all digits, however few the items are.
        if (items_.size() < digits / 8) {
            std::ranges::stable_sort(items_, {}, &Item::key);
            return items_;
        }
        std::uint64_t all = 0;
        for (const Item& item : items_) all |= item.key;
        const int bits = 64 - std::countl_zero(all);
        for (int shift = 0; shift < bits; shift += digit_bits) pass(shift);
        return items_;
    }

  private:
    static constexpr int digit_bits = 11;
    static constexpr std::size_t digits = std::size_t{1} << digit_bits;

    [[nodiscard]] static std::size_t digit(const Item& item, int shift) {
        return item.key >> shift & (digits - 1);
    }
    void pass(int shift) {
        std::array<std::uint32_t, digits> next{};
        for (const Item& item : items_) ++next[digit(item, shift)];
        std::uint32_t begin = 0;
        for (std::uint32_t& each : next) {
            const std::uint32_t count = each;
            each = begin;
            begin += count;
        }
        moved_.resize(items_.size());
        for (const Item& item : items_) moved_[next[digit(item, shift)]++] = item;
        items_.swap(moved_);
    }

    std::vector<Item> items_;
    std::vector<Item> moved_;
};

}  // namespace cambrian
