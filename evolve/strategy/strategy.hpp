#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::evolve {

/// A member that may become a parent: the coordinator keeps its genome.
struct Member {
    BirthId birth = 0;
    double fitness = worst_fitness;
    Hash128 genome;
    bool operator==(const Member&) const = default;
};

/// Decides who is born. Generational: ask() gives a whole generation, tell() takes all its outcomes
/// in id order. Holds no genomes and no random state: draws come from (seed, birth id).
class Strategy {
  public:
    virtual ~Strategy() = default;
    /// The births of the next generation, in id order: a function of what was told, made on any
    /// number of threads.
    [[nodiscard]] virtual std::vector<Birth> ask(ThreadPool& threads) const = 0;
    /// The same on the caller's thread.
    [[nodiscard]] std::vector<Birth> ask() const;
    virtual void tell(std::span<const Outcome> outcomes) = 0;
    /// Members that ask() may name as parents, best first; Parent::member is a place here.
    [[nodiscard]] virtual std::span<const Member> parent_pool() const = 0;
    /// Number of the generation that ask() gives next, from 0.
    [[nodiscard]] virtual std::uint64_t generation() const = 0;
    /// State for a checkpoint, and back. load throws InputError.
    [[nodiscard]] virtual std::vector<std::byte> save() const = 0;
    virtual void load(std::span<const std::byte> bytes) = 0;
};

struct PopulationSettings {
    std::uint64_t size = 256;
    double elite_fraction = 0.25;

    static constexpr auto fields = std::tuple{
        Field{"size", &PopulationSettings::size},
        Field{"elite_fraction", &PopulationSettings::elite_fraction},
    };
};

/// How many are carried over: ⌈fraction · size⌉, at least one.
[[nodiscard]] std::uint64_t elite_count(const PopulationSettings& settings);

/// Truncation selection with elites: the best ⌈fraction·size⌉ are carried over (ties: lower id) and
/// are the parents of the rest; a child takes one uniform elite, or with the splice rate two
/// different ones, the fitter first. Outcomes that are not ok are never carried and never parents;
/// a generation without an ok outcome is followed by fresh founders.
[[nodiscard]] std::unique_ptr<Strategy> make_elite_strategy(std::uint64_t seed,
                                                            const PopulationSettings& settings,
                                                            float splice_rate);

}  // namespace cambrian::evolve
