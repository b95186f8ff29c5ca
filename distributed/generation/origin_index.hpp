#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::distributed {

/// Where each origin is in the parent pool of a round, which must outlive it; of several members
/// that share one, the first. A table with open addressing, and small: one is made in every
/// generation, and most are asked little.
class OriginIndex {
  public:
    OriginIndex() = default;
    explicit OriginIndex(std::span<const evolve::Member> members)
        : members_(members), slots_(std::bit_ceil(2 * members.size() + 1), none) {
        for (std::size_t place = 0; place < members.size(); ++place) {
            std::uint32_t& slot = slots_[slot_of(members[place].origin)];
            if (slot == none) {
                slot = static_cast<std::uint32_t>(place);
            }
        }
    }

    /// Whether it was made, if only of nothing.
    [[nodiscard]] bool made() const { return !slots_.empty(); }
    [[nodiscard]] std::optional<std::size_t> find(evolve::BirthId origin) const {
        const std::uint32_t slot = slots_[slot_of(origin)];
        return slot == none ? std::nullopt : std::optional<std::size_t>(slot);
    }

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFU;
    /// That of the origin, or the free one where it would be.
    [[nodiscard]] std::size_t slot_of(evolve::BirthId origin) const {
        const std::size_t mask = slots_.size() - 1;
        constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;  // 2^64 divided by the golden ratio
        std::size_t at = static_cast<std::size_t>((origin * odd) >> 32U) & mask;
        while (slots_[at] != none && members_[slots_[at]].origin != origin) {
            at = (at + 1) & mask;
        }
        return at;
    }

    std::span<const evolve::Member> members_;
    std::vector<std::uint32_t> slots_;  ///< A power of two, at least half of them free.
};

}  // namespace cambrian::distributed
