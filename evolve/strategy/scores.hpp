#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::evolve {

/// What became of the births of a generation, as columns in the order of their positions. Fitness
/// is maximised, and worst_fitness wherever the status is not ok.
struct Scores {
    Scores() = default;
    explicit Scores(std::size_t births)
        : fitness(births, worst_fitness), status(births, Status::failed) {}

    std::vector<double> fitness;
    std::vector<Status> status;
    /// Where the strategy has species, see Kinship: a representative that each birth matches, or
    /// `unmatched`; once the generation is together new species have the numbers that follow. Else
    /// empty. Of births that are not valid or carried over it says nothing.
    std::vector<std::uint32_t> species;
    /// Where the strategy regulates complexity: that of each birth. Else empty. Of births that are
    /// not valid or carried over it says nothing.
    std::vector<std::uint32_t> complexity;

    [[nodiscard]] std::size_t size() const { return fitness.size(); }
    [[nodiscard]] bool valid(std::size_t position) const { return status[position] == Status::ok; }
    bool operator==(const Scores&) const = default;
};

/// What the scores of a range of positions come to: worst_fitness thrice where none is valid.
struct FitnessRange {
    double best = worst_fitness;
    double mean = worst_fitness;  ///< Of the valid ones, added up in their order.
    double worst = worst_fitness;
    std::uint64_t invalid = 0;
    std::optional<std::size_t>
        fittest;  ///< Position among all scores of the best, of equals the first.
};
[[nodiscard]] FitnessRange fitness_range(const Scores& scores, std::size_t begin, std::size_t end);

}  // namespace cambrian::evolve
