#include "cambrian/evolve/strategy/fittest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace cambrian::evolve {

namespace {

struct Ranked {
    std::uint64_t key = 0;
    std::uint32_t position = 0;
};

/// A number that is lower for a higher fitness, and equal for an equal one.
std::uint64_t falling_key(double fitness) {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
    const auto bits = std::bit_cast<std::uint64_t>(fitness + 0.0);  // -0 is 0
    return (bits & sign) != 0 ? bits : ~bits & ~sign;
}

/// Calls body(key, position) for all valid births.
template <class Body>
void for_each_ranked(const Scores& scores, const Body& body) {
    for (std::size_t position = 0; position < scores.size(); ++position) {
        const double fitness = scores.fitness[position];
        if (scores.valid(position) && !std::isnan(fitness)) {
            body(falling_key(fitness), static_cast<std::uint32_t>(position));
        }
    }
}

bool before(const Ranked& a, const Ranked& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
}

}  // namespace

std::vector<std::uint32_t> fittest_positions(const Scores& scores, std::size_t count) {
    // Keys are told again where they are needed: memory for all of them would cost more.
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t most = 0;
    std::size_t births = 0;
    for_each_ranked(scores, [&](std::uint64_t key, std::uint32_t) {
        least = std::min(least, key);
        most = std::max(most, key);
        ++births;
    });
    if (births == 0 || count == 0) {
        return {};
    }
    // About as many buckets of equal width as there are births.
    const int spread = static_cast<int>(std::bit_width(most - least));
    const int shift = std::max(spread - static_cast<int>(std::bit_width(births)), 0);
    const auto bucket_of = [&](std::uint64_t key) {
        return static_cast<std::size_t>((key - least) >> static_cast<unsigned>(shift));
    };
    std::vector<std::uint32_t> ends(bucket_of(most) + 2, 0);
    for_each_ranked(scores, [&](std::uint64_t key, std::uint32_t) { ++ends[bucket_of(key) + 1]; });
    std::size_t buckets = 0;  // That hold as many as are wanted.
    while (buckets + 1 < ends.size() && ends[buckets] < count) {
        ends[buckets + 1] += ends[buckets];
        ++buckets;
    }
    std::vector<Ranked> best(ends[buckets]);
    std::vector<std::uint32_t> next(ends.begin(),
                                    ends.begin() + static_cast<std::ptrdiff_t>(buckets));
    for_each_ranked(scores, [&](std::uint64_t key, std::uint32_t position) {
        if (const std::size_t bucket = bucket_of(key); bucket < buckets) {
            best[next[bucket]++] = {key, position};
        }
    });
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
        const auto part = std::span(best).subspan(ends[bucket], ends[bucket + 1] - ends[bucket]);
        if (!std::ranges::is_sorted(part, before)) {
            std::ranges::sort(part, before);
        }
    }
    std::vector<std::uint32_t> positions(std::min(count, best.size()));
    for (std::size_t i = 0; i < positions.size(); ++i) {
        positions[i] = best[i].position;
    }
    return positions;
}

}  // namespace cambrian::evolve
