#include "cambrian/evolve/strategy/fittest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "cambrian/engine/core/unset_vector.hpp"

namespace cambrian::evolve {

namespace {

struct Ranked {
    std::uint64_t key;
    std::uint32_t position;
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

/// Cuts a range of keys into buckets of equal width, about one for so many births.
struct Buckets {
    static constexpr std::size_t births_of_one = 4;

    Buckets(std::uint64_t min, std::uint64_t max, std::size_t births)
        : min_key(min),
          shift(static_cast<unsigned>(std::max(
              width(max - min) - width(std::max<std::size_t>(births / births_of_one, 1)), 0))),
          ends(of(max) + 2, 0) {}

    [[nodiscard]] std::size_t of(std::uint64_t key) const {
        return static_cast<std::size_t>((key - min_key) >> shift);
    }
    static int width(std::uint64_t value) { return static_cast<int>(std::bit_width(value)); }

    std::uint64_t min_key;
    unsigned shift;
    /// ends[i + 1]: births of bucket i, then where it ends; ends[0] is 0.
    std::vector<std::uint32_t> ends;
};

/// Fitness clusters: a bucket that got many is cut once more, as often as that is needed.
class BucketSort {
  public:
    /// @param births those of equal keys in the order of their positions: they are moved in turn.
    void sort(std::span<Ranked> births) {
        if (births.size() <= few) {
            if (births.size() > 1) {
                std::ranges::sort(births, before);
            }
            return;
        }
        const auto [first, last] = std::ranges::minmax(births, {}, &Ranked::key);
        if (first.key == last.key) {
            return;
        }
        Buckets buckets(first.key, last.key, births.size());
        for (const Ranked& birth : births) {
            ++buckets.ends[buckets.of(birth.key) + 1];
        }
        std::partial_sum(buckets.ends.begin(), buckets.ends.end(), buckets.ends.begin());
        moved_.assign(births.begin(), births.end());
        std::vector<std::uint32_t> next = buckets.ends;
        for (const Ranked& birth : moved_) {
            births[next[buckets.of(birth.key)]++] = birth;
        }
        for (std::size_t i = 0; i + 1 < buckets.ends.size(); ++i) {
            sort(births.subspan(buckets.ends[i], buckets.ends[i + 1] - buckets.ends[i]));
        }
    }

  private:
    static constexpr std::size_t few = 32;
    std::vector<Ranked> moved_;  ///< Of one cut, until its births lie in their buckets.
};

}  // namespace

std::vector<std::uint32_t> fittest_positions(const Scores& scores, std::size_t count) {
    // Keys are told again where they are needed: memory for all of them would cost more.
    std::uint64_t min_key = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t max_key = 0;
    std::size_t births = 0;
    for_each_ranked(scores, [&](std::uint64_t key, std::uint32_t) {
        min_key = std::min(min_key, key);
        max_key = std::max(max_key, key);
        ++births;
    });
    if (births == 0 || count == 0) {
        return {};
    }
    Buckets all(min_key, max_key, births);
    for_each_ranked(scores, [&](std::uint64_t key, std::uint32_t) { ++all.ends[all.of(key) + 1]; });
    std::size_t buckets = 0;  // That hold as many as are wanted.
    while (buckets + 1 < all.ends.size() && all.ends[buckets] < count) {
        all.ends[buckets + 1] += all.ends[buckets];
        ++buckets;
    }
    UnsetVector<Ranked> best(all.ends[buckets]);
    std::vector<std::uint32_t> next(all.ends.begin(),
                                    all.ends.begin() + static_cast<std::ptrdiff_t>(buckets));
    for_each_ranked(scores, [&](std::uint64_t key, std::uint32_t position) {
        if (const std::size_t bucket = all.of(key); bucket < buckets) {
            best[next[bucket]++] = {key, position};
        }
    });
    BucketSort sorter;
    for (std::size_t i = 0; i < buckets; ++i) {
        sorter.sort(std::span(best).subspan(all.ends[i], all.ends[i + 1] - all.ends[i]));
    }
    std::vector<std::uint32_t> positions(std::min(count, best.size()));
    for (std::size_t i = 0; i < positions.size(); ++i) {
        positions[i] = best[i].position;
    }
    return positions;
}

}  // namespace cambrian::evolve
