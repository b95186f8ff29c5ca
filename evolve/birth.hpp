#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/hash.hpp"

namespace cambrian::evolve {

/// Running number of a birth in a run; unique, the coordinate of its random stream.
using BirthId = std::uint64_t;

enum class Recipe : std::uint8_t {
    sample,  ///< A founder from the starting blueprint.
    carry,   ///< The parent, unchanged.
    vary,    ///< Splice (with two parents) and mutation.
};
[[nodiscard]] std::string_view name(Recipe recipe);

struct Parent {
    BirthId birth = 0;
    Hash128 genome;  ///< Content hash: where the genome is found.
    double fitness = 0.0;
    bool operator==(const Parent&) const = default;
};

/// An order for one individual. With its parents' genomes it determines the child completely.
struct Birth {
    BirthId id = 0;
    Recipe recipe = Recipe::sample;
    std::vector<Parent> parents;  ///< Two for a splice, fitter first.
    bool operator==(const Birth&) const = default;
};

enum class Status : std::uint8_t {
    ok,
    non_finite,  ///< Fitness was NaN or infinite.
    failed,      ///< The evaluation threw on two ranks.
};
[[nodiscard]] std::string_view name(Status status);

/// The fitness of an individual without a valid one: below every valid fitness.
inline constexpr double worst_fitness = -std::numeric_limits<double>::infinity();

/// What became of a birth. Fitness is maximised.
struct Outcome {
    BirthId id = 0;
    Status status = Status::ok;
    double fitness = worst_fitness;
    std::vector<double> objectives;
    std::vector<double> behaviour;
    std::vector<double> per_sample;
    std::uint64_t evaluations = 1;  ///< Fitness evaluations spent (0 for a carried outcome).
    std::uint64_t env_steps = 0;
    std::uint64_t parameters = 0;
    std::uint32_t redrawn = 0;
    Hash128 genome;
    bool operator==(const Outcome&) const = default;
};

}  // namespace cambrian::evolve
