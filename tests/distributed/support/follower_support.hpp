#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cambrian/distributed/generation/ancestry.hpp"
#include "cambrian/distributed/generation/follower.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/genome/weight_rows.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {

/// Three ranks that follow a run, and one beside them that makes all births.
class FollowerTest : public testing::Test {
  protected:
    static constexpr std::uint32_t ranks = 3;

    FollowerTest();

    static Follower::Settings settings(std::uint32_t of_ranks);

    static SharedIndividual parent(const Follower& follower, std::size_t place) {
        return (*follower.parents(*follower.round()))[place];
    }

    /// A child of genomes that may lie on a backend, and lies there, too, where the test has it.
    SharedIndividual child(const evolve::Birth& birth, const PoolGenomes& parents);

    /// Children of a range, made where they are evaluated.
    void make(Follower& follower, OrderRange births);

    /// What the strategy decides where fitness has nothing to do with places.
    evolve::Decision decision_of(const Round& round);

    /// One generation, cut in three; → how many parents had to travel.
    std::size_t advance(std::size_t remakes);

    Experiment experiment = [] {
        Experiment made = xor_experiment({});
        made.population.size = 60;
        return made;
    }();
    const evolve::Variation variation{experiment.seed, experiment.variation};
    ThreadPool threads{2};
    GenomePool memory{1};
    bool on_backend = false;
    std::size_t made_on_backend = 0;
    std::unique_ptr<Backend> backend = make_cpu_backend({});
    evolve::WeightRows rows{*backend};
    std::unordered_map<const evolve::Individual*, SharedIndividual> twins;  ///< On the host.
    PoolGenomes alive;  ///< So that nobody else has their address.
    Ancestry ancestry;
    std::unique_ptr<Follower> all;
    std::vector<std::unique_ptr<Follower>> followers;
};

}  // namespace cambrian::distributed
