#include "cambrian/distributed/worker/shard_evaluator.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <span>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/distributed/support/late_backend.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Births of a shard on a device that computes beside its host: the scores of one that does not.
namespace cambrian::distributed {
namespace {

/// Enough for two parts.
constexpr std::size_t births = 2 * 4096 + 100;

/// Founders as children that are there already.
Job job_of(const Experiment& experiment, std::uint64_t generation) {
    Job job;
    job.evaluation = {evolve::Phase::train, generation};
    job.generation = generation;
    const evolve::Variation variation(experiment.seed, experiment.variation);
    evolve::ChildPlan plan;
    for (std::size_t i = 0; i < births; ++i) {
        evolve::Birth birth;
        birth.id = i;
        const auto child = std::make_shared<evolve::Individual>();
        variation.materialise(birth, std::span<const evolve::Individual* const>{}, plan, *child);
        job.children.push_back({child, 0, i});
    }
    return job;
}

/// Eight shards in parts, and the same births whole on a backend that computes at once.
void expect_equal_scores(const Experiment& experiment, LateBackend& late) {
    const auto cpu = make_cpu_backend({.threads = 2, .math = Math::strict});
    ShardEvaluator plain(*cpu, experiment, false);
    ShardEvaluator in_parts(late, experiment, false);
    Job job = job_of(experiment, 0);
    const JobResult expected = plain.work(job);
    ASSERT_FALSE(expected.failure) << describe(expected.failure);
    for (int shard = 0; shard < 8; ++shard) {
        const JobResult result = in_parts.work(job);
        ASSERT_FALSE(result.failure) << describe(result.failure);
        EXPECT_EQ(result.scores.scores.fitness, expected.scores.scores.fitness);
        EXPECT_EQ(result.scores.scores.status, expected.scores.scores.status);
        EXPECT_EQ(result.scores.env_steps, expected.scores.env_steps);
        EXPECT_EQ(result.genomes.size(), births);
    }
    EXPECT_EQ(late.max_waiting(), 2U) << "no part was begun before the one before was read";
}

TEST(ShardEvaluator, PartsBesideEachOtherChangeNoScore) {
    const TemporaryDirectory directory;
    expect_equal_scores(xor_experiment(directory.path()), *make_late_backend(2));
    expect_equal_scores(neat_experiment(directory.path()), *make_late_backend(2));
}

// Four shards are whole, a run each; then the first and the second part of the fifth.
TEST(ShardEvaluator, APartWithoutMemoryChangesNoScore) {
    const TemporaryDirectory directory;
    for (const std::size_t refused : {5U, 6U})
        expect_equal_scores(xor_experiment(directory.path()), *make_late_backend(2, refused));
}

}  // namespace
}  // namespace cambrian::distributed
