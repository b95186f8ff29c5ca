#include "cambrian/distributed/coordinator/parent_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace {

/// Two generations of one population, whose children several ranks made.
class LivingTest : public testing::Test {
  protected:
    LivingTest() {
        for (int generation = 0; generation < 2; ++generation) {
            births = strategy->ask();
            harvest = harvest_of(births);
            strategy->tell(harvest.outcomes);
            if (generation == 0) {
                living.succeed(strategy->living(), births, harvest);
            }
        }
    }

    /// Every third child was made by rank 0, which has it; of the others it has only the hash.
    Harvest harvest_of(std::span<const evolve::Birth> made) {
        const SharedGenomes parents = living.genomes();
        Harvest result(made.size());
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
    Living living{{&variation, &pool}, threads};
    std::vector<evolve::Birth> births;
    Harvest harvest{0};
};

TEST_F(LivingTest, GenomesOfOtherRanksAreMadeHere) {
    living.succeed(strategy->living(), births, harvest);
    const SharedGenomes genomes = living.genomes();
    ASSERT_EQ(genomes->size(), 30U);
    for (std::size_t place = 0; place < genomes->size(); ++place) {
        const Hash128 hash = strategy->living()[place].genome;
        EXPECT_EQ(evolve::content_hash(*(*genomes)[place]), hash);
        EXPECT_EQ(living.parent(place).genome, hash);
        EXPECT_EQ(living.parent(*living.find(hash)).genome, hash);
    }
    EXPECT_FALSE(living.find({1, 2}).has_value());
}

TEST_F(LivingTest, ChildOfAnotherRankThatDiffersIsAnError) {
    for (std::size_t i = 0; i < births.size(); ++i) {
        harvest.outcomes[i].genome.low ^= harvest.ranks[i] == 2 ? 1U : 0U;
    }
    living.succeed(strategy->living(), births, harvest);
    EXPECT_THAT([&] { static_cast<void>(living.genomes()); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("rank 2 made another child")));
}

TEST_F(LivingTest, CheckpointWithoutAMemberIsNotRestored) {
    living.succeed(strategy->living(), births, harvest);
    const SharedGenomes genomes = living.genomes();
    std::vector<LivingMember> saved;
    for (std::size_t place = genomes->size(); place-- > 1;) {
        saved.push_back({living[place].outcome, (*genomes)[place]});
    }
    Living restored({&variation, &pool}, threads);
    EXPECT_EQ(restored.restore(strategy->living(), std::vector(saved)),
              strategy->living().front().birth);
    saved.push_back({living[0].outcome, (*genomes)[0]});
    EXPECT_EQ(restored.restore(strategy->living(), std::move(saved)), std::nullopt);
    EXPECT_EQ(restored.genomes()->front(), genomes->front());
}

}  // namespace
}  // namespace cambrian::distributed
