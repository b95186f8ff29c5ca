#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cambrian/distributed/generation/round.hpp"

// Births of a new round that ranks begin with as soon as they know it: nobody has to order them.
namespace cambrian::distributed {

/// The number of a shard tells its generation: rounds that are open at once never share one. 0 is
/// what is evaluated alone.
[[nodiscard]] constexpr std::uint64_t first_shard_of(std::uint64_t generation) {
    return (generation << 32U) + 1;
}
[[nodiscard]] constexpr std::uint64_t generation_of(std::uint64_t shard) {
    return shard >> 32U;
}

/// The first births of those that belong to a rank; at most `count`.
[[nodiscard]] inline OrderRange first_share(std::span<const OrderRange> zones, std::uint32_t rank,
                                            std::size_t count) {
    if (rank >= zones.size()) {
        return {};
    }
    const OrderRange& zone = zones[rank];
    return {zone.begin, zone.begin + std::min(zone.size(), count)};
}

}  // namespace cambrian::distributed
