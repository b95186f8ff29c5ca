#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

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

/// How many births a rank begins with.
struct FirstShare {
    std::uint32_t births = 0;
    std::uint32_t smallest_rest = 0;  ///< Fewer births than that are not left over.
    bool operator==(const FirstShare&) const = default;
    /// All that there is.
    [[nodiscard]] static FirstShare whole() {
        return {std::numeric_limits<std::uint32_t>::max(), 0};
    }
};

/// How many items of a range are taken where `wanted` are: the rest, too, if it is less than
/// `smallest_rest`, since a shard of so few would be done before the next one comes.
[[nodiscard]] inline std::size_t taken_of(const OrderRange& range, std::size_t wanted,
                                          std::size_t smallest_rest) {
    const std::size_t taken = std::min(wanted, range.size());
    return taken > 0 && range.size() - taken < smallest_rest ? range.size() : taken;
}

/// The first of the births that belong to a rank.
[[nodiscard]] inline OrderRange first_share(std::span<const OrderRange> zones, std::uint32_t rank,
                                            const FirstShare& share) {
    if (rank >= zones.size()) {
        return {};
    }
    const OrderRange& zone = zones[rank];
    return {zone.begin, zone.begin + taken_of(zone, share.births, share.smallest_rest)};
}

/// How births are divided among ranks that all take their share at once: whoever had to wait for a
/// second shard would wait long. Shares lie side by side in the order of the ranks, about where the
/// zones of these do.
struct Division {
    std::span<const std::uint32_t> ranks;  ///< Ascending, without the coordinator,
    std::span<const FirstShare> shares;    ///< and what each wants.
    std::uint32_t coordinator = 0;
    std::uint32_t own_births = 0;  ///< What the coordinator wants.

    /// The births that each of so many ranks begins with; none where what they want is more than
    /// can be.
    [[nodiscard]] std::vector<OrderRange> zones(std::size_t count, std::size_t births) const {
        std::vector<std::uint64_t> wanted(count, 0);
        const auto want = [&](std::uint32_t rank, std::uint32_t wants) {
            if (rank < count) wanted[rank] = wants;
        };
        want(coordinator, own_births);
        for (std::size_t i = 0; i < ranks.size(); ++i) want(ranks[i], shares[i].births);
        const std::uint64_t all = std::accumulate(wanted.begin(), wanted.end(), std::uint64_t{0});
        std::vector<OrderRange> parts(count);
        constexpr std::uint64_t countable = std::numeric_limits<std::uint32_t>::max();
        if (all == 0 || all > countable || births > countable) return parts;
        std::uint64_t before = 0;
        for (std::size_t rank = 0; rank < count; before += wanted[rank++])
            parts[rank] = {births * before / all, births * (before + wanted[rank]) / all};
        return parts;
    }
};

}  // namespace cambrian::distributed
