#pragma once

#include <cstddef>
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

    [[nodiscard]] std::size_t size() const { return fitness.size(); }
    [[nodiscard]] bool valid(std::size_t position) const { return status[position] == Status::ok; }
    bool operator==(const Scores&) const = default;
};

}  // namespace cambrian::evolve
