#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/distributed/generation/follower.hpp"
#include "cambrian/distributed/worker/shard_evaluator.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/support/mutation_support.hpp"
#include "cambrian/tests/support/network_run.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Shards of which a device makes some children, and the host the others.
namespace cambrian::test::vulkan_births_test {
namespace {

using distributed::JobResult;
using distributed::ShardEvaluator;

/// Where their second layer varies, children are the host's to make.
distributed::Experiment births_experiment() {
    distributed::Experiment experiment;
    experiment.task = evolve::standard_tasks().make(nlohmann::json{{"type", "delayed_copy"}}, {});
    experiment.variation.founder = blueprint_of(
        R"({"layers": [{"type": "dense", "out": 1024}, {"type": "neurons", "continuous": true}]})",
        1, 1);
    experiment.variation.mutation = mutation_of_weights(0.3F);
    experiment.family = evolve::FamilyChoice::graph;
    experiment.population.size = 24;
    return experiment;
}

/// A rank alone, each generation of which is one shard.
class Rank {
  public:
    Rank(Backend& backend, const distributed::Experiment& experiment, bool weights_stay)
        : evaluator_(backend, experiment, weights_stay),
          threads_(backend.threads()),
          follower_(distributed::make_strategy(experiment), {}, evaluator_.variation(),
                    evaluator_.genomes(), threads_) {}

    [[nodiscard]] JobResult work() {
        distributed::Job job;
        job.round = follower_.round();
        job.evaluation = {evolve::Phase::train, job.round->generation()};
        job.births = {0, job.round->order.size()};
        job.parents = follower_.lend_parents(*job.round);
        return evaluator_.work(job);
    }
    /// Goes on to the next generation; the youngest are the fittest.
    void keep(JobResult&& result) {
        const distributed::SharedRound told = follower_.round();
        evolve::Scores scores(told->strategy->births());
        for (std::size_t i = 0; i < scores.size(); ++i) {
            scores.fitness[i] = static_cast<double>(told->strategy->birth(i).id);
            scores.status[i] = evolve::Status::ok;
        }
        follower_.keep(*told, result.births, std::move(result.genomes));
        static_cast<void>(follower_.apply({told->generation(),
                                           told->strategy->decide(scores, threads_),
                                           {{static_cast<std::uint32_t>(told->order.size()), 0}}}));
    }
    [[nodiscard]] const ShardEvaluator& evaluator() const { return evaluator_; }

  private:
    ShardEvaluator evaluator_;
    ThreadPool& threads_;
    distributed::Follower follower_;
};

TEST(VulkanBirths, AreTheSameWhereTheHostMakesSome) {
    const distributed::Experiment experiment = births_experiment();
    const auto cpu = make_cpu_backend({.math = Math::strict});
    VulkanOptions options = test_vulkan_options(Math::strict);
    options.fuse = false;  // The kernels of other tests.
    const auto vulkan = make_vulkan_backend(options);
    Rank host(*cpu, experiment, false);
    Rank device(*vulkan, experiment, true);
    int mixed = 0;
    for (int generation = 0; generation < 4; ++generation) {
        JobResult expected = host.work();
        JobResult found = device.work();
        ASSERT_FALSE(expected.failure) << distributed::describe(expected.failure);
        ASSERT_FALSE(found.failure) << distributed::describe(found.failure);
        EXPECT_EQ(found.scores.scores.fitness, expected.scores.scores.fitness) << generation;
        ASSERT_EQ(found.genomes.size(), expected.genomes.size());
        for (std::size_t i = 0; i < found.genomes.size(); ++i)
            EXPECT_EQ(*device.evaluator().on_host(found.genomes[i]), *expected.genomes[i])
                << generation << ": " << i;
        const bool some = std::ranges::any_of(found.genomes,
                                              [](const auto& genome) { return genome->on_host(); });
        mixed += found.made_on_backend && some ? 1 : 0;
        host.keep(std::move(expected));
        device.keep(std::move(found));
    }
    EXPECT_GT(mixed, 0) << "all were made in one place";
}

}  // namespace
}  // namespace cambrian::test::vulkan_births_test
