#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::distributed {

/// Where each origin is in a parent pool; of several members that share one, the first. A table
/// with open addressing: one is made in every generation, and most are asked little.
class OriginIndex {
  public:
    OriginIndex() = default;
    explicit OriginIndex(std::span<const evolve::Member> members)
        : slots_(std::bit_ceil(2 * members.size() + 1)) {
        for (std::size_t place = 0; place < members.size(); ++place) {
            Slot& slot = slots_[slot_of(members[place].origin)];
            if (slot.place == none) {
                slot = {members[place].origin, static_cast<std::uint32_t>(place)};
            }
        }
    }

    /// Whether it was made, if only of nothing.
    [[nodiscard]] bool made() const { return !slots_.empty(); }
    [[nodiscard]] std::optional<std::size_t> find(evolve::BirthId origin) const {
        const Slot& slot = slots_[slot_of(origin)];
        return slot.place == none ? std::nullopt : std::optional<std::size_t>(slot.place);
    }

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFU;
    struct Slot {
        evolve::BirthId origin = 0;
        std::uint32_t place = none;
    };

    /// That of the origin, or the free one where it would be.
    [[nodiscard]] std::size_t slot_of(evolve::BirthId origin) const {
        const std::size_t mask = slots_.size() - 1;
        constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;  // 2^64 divided by the golden ratio
        std::size_t at = static_cast<std::size_t>((origin * odd) >> 32U) & mask;
        while (slots_[at].place != none && slots_[at].origin != origin) {
            at = (at + 1) & mask;
        }
        return at;
    }

    std::vector<Slot> slots_;  ///< A power of two, at least half of them free.
};

}  // namespace cambrian::distributed
