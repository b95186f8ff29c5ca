#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cambrian/evolve/strategy/scores.hpp"

namespace cambrian::distributed {

/// The fittest of some births, of equals the one with the lowest position.
struct FittestBirth {
    std::optional<std::size_t> index;  ///< Among them; nothing before the first.
    std::uint64_t position = 0;
    double fitness = evolve::worst_fitness;

    void add(const FittestBirth& other) {
        const bool before =
            other.fitness > fitness || (other.fitness == fitness && other.position < position);
        if (other.index && (!index || before)) {
            *this = other;
        }
    }
};

/// What only the log of all individuals says of each birth; empty columns where there is none.
struct BirthDetails {
    std::vector<std::uint64_t> env_steps;
    std::vector<std::uint64_t> parameters;
    std::vector<std::uint32_t> retries;
    bool operator==(const BirthDetails&) const = default;
};

/// What became of the births of one shard, in their order, and what they come to.
struct ShardScores {
    evolve::Scores scores;
    std::uint64_t env_steps = 0;           ///< Of all.
    std::uint64_t retries = 0;             ///< Of all: structural draws without a valid outcome.
    std::uint64_t parameters_of_best = 0;  ///< Weights of the fittest, of equals the first in id.
    BirthDetails details;
    std::uint64_t bytes_of_best = 0;     ///< Of the weights of the fittest, as they are stored.
    std::uint64_t products_of_best = 0;  ///< Of one evaluation of it; 0 where nobody asks.
    bool operator==(const ShardScores&) const = default;
};

/// What one shard took of a rank.
struct ShardCost {
    double evaluate = 0.0;     ///< Seconds.
    double vary = 0.0;         ///< Seconds of building children: splice, mutation.
    double wait = 0.0;         ///< Seconds idle before the shard.
    double communicate = 0.0;  ///< Seconds of encoding, decoding and handing over messages.
    std::uint64_t programs_compiled = 0;
    std::uint64_t memory_splits = 0;  ///< Parts beyond the first, where memory did not hold all.
    std::uint64_t fallbacks = 0;  ///< Shards that another backend evaluated, for want of memory.
    std::uint64_t fetched = 0;    ///< Genomes that other ranks sent,
    std::uint64_t remade = 0;     ///< and those that were made once more instead.

    ShardCost& operator+=(const ShardCost& other) {
        evaluate += other.evaluate;
        vary += other.vary;
        wait += other.wait;
        communicate += other.communicate;
        programs_compiled += other.programs_compiled;
        memory_splits += other.memory_splits;
        fallbacks += other.fallbacks;
        fetched += other.fetched;
        remade += other.remade;
        return *this;
    }
    bool operator==(const ShardCost&) const = default;
};

}  // namespace cambrian::distributed
