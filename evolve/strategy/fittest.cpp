#include "cambrian/evolve/strategy/fittest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

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

/// Births that a thread takes at once.
constexpr std::size_t births_of_block = 8192;

std::size_t blocks_of(const Scores& scores) {
    return (scores.size() + births_of_block - 1) / births_of_block;
}

/// Calls body(key, position) for all valid births of a block.
template <class Body>
void for_each_ranked(const Scores& scores, std::size_t block, const Body& body) {
    const std::size_t end = std::min((block + 1) * births_of_block, scores.size());
    for (std::size_t position = block * births_of_block; position < end; ++position) {
        const double fitness = scores.fitness[position];
        if (scores.valid(position) && !std::isnan(fitness)) {
            body(falling_key(fitness), static_cast<std::uint32_t>(position));
        }
    }
}

/// The keys of some births.
struct KeyRange {
    std::uint64_t min = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t max = 0;
    std::size_t births = 0;

    void add(const KeyRange& other) {
        min = std::min(min, other.min);
        max = std::max(max, other.max);
        births += other.births;
    }
};

KeyRange key_range(const Scores& scores, ThreadPool& threads) {
    std::vector<KeyRange> blocks(blocks_of(scores));
    threads.for_each(std::ssize(blocks), [&](std::int64_t item, int) {
        const auto block = static_cast<std::size_t>(item);
        KeyRange range;
        for_each_ranked(scores, block, [&](std::uint64_t key, std::uint32_t) {
            range.add({key, key, 1});
        });
        blocks[block] = range;
    });
    KeyRange all;
    for (const KeyRange& block : blocks) {
        all.add(block);
    }
    return all;
}

bool before(const Ranked& a, const Ranked& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
}

/// Cuts a range of keys into buckets of equal width, about one for so many births.
struct Buckets {
    Buckets(const KeyRange& keys, std::size_t births_of_one)
        : min_key(keys.min),
          shift(static_cast<unsigned>(
              std::max(width(keys.max - keys.min) -
                           width(std::max<std::size_t>(keys.births / births_of_one, 1)),
                       0))),
          count(of(keys.max) + 1) {}

    [[nodiscard]] std::size_t of(std::uint64_t key) const {
        return static_cast<std::size_t>((key - min_key) >> shift);
    }
    static int width(std::uint64_t value) { return static_cast<int>(std::bit_width(value)); }

    std::uint64_t min_key;
    unsigned shift;
    std::size_t count;
};
/// Fewer births a bucket take longer to count than to compare.
constexpr std::size_t births_of_bucket = 4;

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
        const Buckets buckets({first.key, last.key, births.size()}, births_of_bucket);
        // ends[i + 1]: births of bucket i, then where it ends.
        std::vector<std::uint32_t> ends(buckets.count + 1, 0);
        for (const Ranked& birth : births) {
            ++ends[buckets.of(birth.key) + 1];
        }
        std::partial_sum(ends.begin(), ends.end(), ends.begin());
        moved_.assign(births.begin(), births.end());
        std::vector<std::uint32_t> next = ends;
        for (const Ranked& birth : moved_) {
            births[next[buckets.of(birth.key)]++] = birth;
        }
        for (std::size_t i = 0; i < buckets.count; ++i) {
            sort(births.subspan(ends[i], ends[i + 1] - ends[i]));
        }
    }

  private:
    static constexpr std::size_t few = 32;
    std::vector<Ranked> moved_;  ///< Of one cut, until its births lie in their buckets.
};

/// The first buckets, which hold as many births as are wanted: where they end, and where the next
/// birth of each block goes.
struct Places {
    std::vector<std::uint32_t> ends;
    std::vector<std::uint32_t> next;  ///< By block, then by bucket.
};

Places places_of(const Scores& scores, const Buckets& buckets, std::size_t wanted,
                 ThreadPool& threads) {
    const std::size_t blocks = blocks_of(scores);
    Places places{{}, std::vector<std::uint32_t>(blocks * buckets.count, 0)};
    threads.for_each(static_cast<std::int64_t>(blocks), [&](std::int64_t item, int) {
        const auto block = static_cast<std::size_t>(item);
        const auto counts = std::span(places.next).subspan(block * buckets.count, buckets.count);
        for_each_ranked(scores, block,
                        [&](std::uint64_t key, std::uint32_t) { ++counts[buckets.of(key)]; });
    });
    std::uint32_t end = 0;
    for (std::size_t bucket = 0; bucket < buckets.count && end < wanted; ++bucket) {
        for (std::size_t block = 0; block < blocks; ++block) {
            end += std::exchange(places.next[block * buckets.count + bucket], end);
        }
        places.ends.push_back(end);
    }
    return places;
}

/// The births of the first buckets: those of one in the order of their positions.
UnsetVector<Ranked> births_of(const Scores& scores, const Buckets& buckets, Places& places,
                              ThreadPool& threads) {
    UnsetVector<Ranked> births(places.ends.back());
    threads.for_each(static_cast<std::int64_t>(blocks_of(scores)), [&](std::int64_t item, int) {
        const auto block = static_cast<std::size_t>(item);
        const auto next = std::span(places.next).subspan(block * buckets.count, buckets.count);
        for_each_ranked(scores, block, [&](std::uint64_t key, std::uint32_t position) {
            const std::size_t bucket = buckets.of(key);
            if (bucket < places.ends.size()) births[next[bucket]++] = {key, position};
        });
    });
    return births;
}

void sort_buckets(std::span<Ranked> births, std::span<const std::uint32_t> ends,
                  ThreadPool& threads) {
    constexpr std::size_t at_once = 32;
    const std::size_t parts = (ends.size() + at_once - 1) / at_once;
    threads.for_each(static_cast<std::int64_t>(parts), [&](std::int64_t item, int) {
        const std::size_t first = static_cast<std::size_t>(item) * at_once;
        BucketSort sorter;
        for (std::size_t i = first; i < std::min(first + at_once, ends.size()); ++i) {
            const std::size_t begin = i == 0 ? 0 : ends[i - 1];
            sorter.sort(births.subspan(begin, ends[i] - begin));
        }
    });
}

}  // namespace

std::vector<std::uint32_t> fittest_positions(const Scores& scores, std::size_t count,
                                             ThreadPool& threads) {
    // Keys are told again where they are needed: memory for all of them would cost more.
    const KeyRange keys = key_range(scores, threads);
    if (keys.births == 0 || count == 0) {
        return {};
    }
    // Every block counts for itself: the fewer buckets, the more blocks.
    const Buckets buckets(keys, births_of_bucket * blocks_of(scores));
    Places places = places_of(scores, buckets, count, threads);
    UnsetVector<Ranked> best = births_of(scores, buckets, places, threads);
    sort_buckets(best, places.ends, threads);
    std::vector<std::uint32_t> positions(std::min(count, best.size()));
    for (std::size_t i = 0; i < positions.size(); ++i) {
        positions[i] = best[i].position;
    }
    return positions;
}

}  // namespace cambrian::evolve
