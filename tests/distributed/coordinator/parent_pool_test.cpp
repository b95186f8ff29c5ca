#include "cambrian/distributed/coordinator/parent_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace {

/// Two generations of one population, whose children several ranks made.
class ParentPoolTest : public testing::Test {
  protected:
    ParentPoolTest() {
        for (int generation = 0; generation < 2; ++generation) {
            births = strategy->ask();
            results = results_of(births);
            strategy->tell(results.outcomes);
            if (generation == 0) {
                parent_pool.succeed(strategy->parent_pool(), births, results);
            }
        }
    }

    /// Every third child was made by rank 0, which has it; of the others it has only the hash.
    GenerationResults results_of(std::span<const evolve::Birth> made) {
        const SharedGenomes parents = parent_pool.genomes();
        GenerationResults result(made.size());
        for (std::size_t i = 0; i < made.size(); ++i) {
            auto genome = std::make_shared<const evolve::Genome>(
                variation.materialise(made[i], ParentGenomes(made[i], *parents).span()).genome);
            result.outcomes[i].id = made[i].id;
            result.outcomes[i].fitness = static_cast<double>((made[i].id * 7919) % 101);
            result.outcomes[i].genome = evolve::content_hash(*genome);
            result.ranks[i] = static_cast<int>(i % 3);
            if (i % 3 == 0) {
                result.genomes[i] = std::move(genome);
            }
        }
        return result;
    }

    const Experiment experiment = xor_experiment({});
    const evolve::Variation variation{experiment.seed, experiment.variation};
    ThreadPool threads{2};
    std::unique_ptr<evolve::Strategy> strategy =
        evolve::make_elite_strategy(1, {.size = 60, .elite_fraction = 0.5}, 0.5F);
    GenomePool pool{std::uint64_t{1} << 20U};
    ParentPool parent_pool{{&variation, &pool}, threads};
    std::vector<evolve::Birth> births;
    GenerationResults results{0};
};

TEST_F(ParentPoolTest, GenomesOfOtherRanksAreMadeHere) {
    parent_pool.succeed(strategy->parent_pool(), births, results);
    const SharedGenomes genomes = parent_pool.genomes();
    ASSERT_EQ(genomes->size(), 30U);
    for (std::size_t place = 0; place < genomes->size(); ++place) {
        const Hash128 hash = strategy->parent_pool()[place].genome;
        EXPECT_EQ(evolve::content_hash(*(*genomes)[place]), hash);
        EXPECT_EQ(parent_pool.parent(place).genome, hash);
        EXPECT_EQ(parent_pool.parent(*parent_pool.find(hash)).genome, hash);
    }
    EXPECT_FALSE(parent_pool.find({1, 2}).has_value());
}

TEST_F(ParentPoolTest, ChildOfAnotherRankThatDiffersIsAnError) {
    for (std::size_t i = 0; i < births.size(); ++i) {
        results.outcomes[i].genome.low ^= results.ranks[i] == 2 ? 1U : 0U;
    }
    parent_pool.succeed(strategy->parent_pool(), births, results);
    EXPECT_THAT([&] { static_cast<void>(parent_pool.genomes()); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("rank 2 made another child")));
}

TEST_F(ParentPoolTest, CheckpointWithoutAMemberIsNotRestored) {
    parent_pool.succeed(strategy->parent_pool(), births, results);
    const SharedGenomes genomes = parent_pool.genomes();
    std::vector<ParentPoolMember> saved;
    for (std::size_t place = genomes->size(); place-- > 1;) {
        saved.push_back({parent_pool[place].outcome, (*genomes)[place]});
    }
    ParentPool restored({&variation, &pool}, threads);
    EXPECT_EQ(restored.restore(strategy->parent_pool(), std::vector(saved)),
              strategy->parent_pool().front().birth);
    saved.push_back({parent_pool[0].outcome, (*genomes)[0]});
    EXPECT_EQ(restored.restore(strategy->parent_pool(), std::move(saved)), std::nullopt);
    EXPECT_EQ(restored.genomes()->front(), genomes->front());
}

}  // namespace
}  // namespace cambrian::distributed
