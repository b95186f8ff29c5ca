#include "cambrian/evolve/strategy/fittest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
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

std::vector<Ranked> ranked(const Scores& scores) {
    std::vector<Ranked> all;
    all.reserve(scores.size());
    for (std::size_t position = 0; position < scores.size(); ++position) {
        const double fitness = scores.fitness[position];
        if (scores.valid(position) && !std::isnan(fitness)) {
            all.push_back({falling_key(fitness), static_cast<std::uint32_t>(position)});
        }
    }
    return all;
}

bool before(const Ranked& a, const Ranked& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
}

}  // namespace

std::vector<std::uint32_t> fittest_positions(const Scores& scores, std::size_t count) {
    const std::vector<Ranked> all = ranked(scores);
    if (all.empty() || count == 0) {
        return {};
    }
    const auto [least, most] = std::ranges::minmax(all, {}, &Ranked::key);
    // About as many buckets of equal width as there are births.
    const int spread = static_cast<int>(std::bit_width(most.key - least.key));
    const int shift = std::max(spread - static_cast<int>(std::bit_width(all.size())), 0);
    const auto bucket_of = [&, first = least.key](const Ranked& one) {
        return static_cast<std::size_t>((one.key - first) >> static_cast<unsigned>(shift));
    };
    std::vector<std::size_t> ends(bucket_of(most) + 2, 0);
    for (const Ranked& one : all) {
        ++ends[bucket_of(one) + 1];
    }
    std::size_t buckets = 0;  // That hold as many as are wanted.
    while (buckets + 1 < ends.size() && ends[buckets] < count) {
        ends[buckets + 1] += ends[buckets];
        ++buckets;
    }
    std::vector<Ranked> best(ends[buckets]);
    std::vector<std::size_t> next(ends.begin(),
                                  ends.begin() + static_cast<std::ptrdiff_t>(buckets));
    for (const Ranked& one : all) {
        if (const std::size_t bucket = bucket_of(one); bucket < buckets) {
            best[next[bucket]++] = one;
        }
    }
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
