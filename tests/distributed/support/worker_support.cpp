#include "cambrian/tests/distributed/support/worker_support.hpp"

#include <atomic>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/variation/variation.hpp"

namespace cambrian::distributed::worker_support {

evolve::Genome founder(const Experiment& experiment, evolve::BirthId id) {
    const evolve::Variation variation(experiment.seed, experiment.variation);
    return variation.materialise({id, evolve::Recipe::sample, {}}, {}).genome;
}

evolve::Decision decision_of_founders(const Experiment& experiment, double sign) {
    ThreadPool threads(1);
    const SharedStrategy founders = make_strategy(experiment);
    return founders->decide(
        valid_scores(founders->births(),
                     [sign](std::uint64_t i) { return sign * static_cast<double>(i); }),
        threads);
}

SharedRound second_round(const Experiment& experiment, std::uint32_t holder) {
    ThreadPool threads(1);
    SharedStrategy second = make_strategy(experiment)->apply(decision_of_founders(experiment));
    const std::size_t members = second->parent_pool().size();
    return make_round(std::move(second), std::vector<std::uint32_t>(members, holder), false,
                      threads);
}

TwoRecords two_records(const Experiment& experiment) {
    SharedRound second = second_round(experiment, 1);
    ThreadPool threads(1);
    const evolve::Scores scores =
        valid_scores(second->strategy->births(), [](std::uint64_t) { return 1.0; });
    const auto births = static_cast<std::uint32_t>(second->strategy->births());
    const auto evaluated = static_cast<std::uint32_t>(second->order.size());
    Record first{0, decision_of_founders(experiment), {{births, 1}}};
    Record next{1, second->strategy->decide(scores, threads), {{evaluated, 1}}};
    return {std::move(second), std::move(first), std::move(next)};
}

ShardOrder order_of(const Round& round, std::uint64_t shard) {
    ShardOrder order;
    order.state = RoundState{round.strategy->save(), round.holders, {round.digest}};
    order.digest = round.digest;
    order.shard = shard;
    order.end = 1;
    return order;
}

ShardOrder order_without_state(const Round& round, std::uint64_t shard) {
    ShardOrder order = order_of(round, shard);
    order.state.reset();
    order.generation = round.generation();
    return order;
}

PlayedCoordinator::PlayedCoordinator(const Experiment& experiment)
    : communicator_(network_.communicator(0)),
      third_(network_.communicator(another)),
      worker_([this, &experiment] {
          Communicator communicator = network_.communicator(1);
          const auto backend = make_cpu_backend({});
          const std::atomic<int> interrupt{0};
          try {
              static_cast<void>(run_worker(communicator, *backend, experiment, interrupt));
          } catch (const Error& error) {
              failure_ = error.what();
          }
      }) {}

GenomeReply WorkerTest::answer_to(const GenomeRequest& request) const {
    GenomeReply reply;
    for (const evolve::BirthId origin : request.origins) {
        const evolve::Individual genome(founder(experiment_, origin));
        reply.genomes.push_back(
            {origin, static_cast<std::uint32_t>(reply.structures.size()), genome.weights});
        reply.structures.push_back(evolve::encode(*genome.structure));
    }
    return reply;
}

Record WorkerTest::record_of_founders(double sign) const {
    const auto births = static_cast<std::uint32_t>(make_strategy(experiment_)->births());
    return {0, decision_of_founders(experiment_, sign), {{births, 1}}};
}

GenomeRequest WorkerTest::begin(PlayedCoordinator& coordinator) const {
    EXPECT_TRUE(coordinator.hear<Request>());  // The first one asks for work.
    coordinator.say(order_of(*round_, one));
    const auto request = coordinator.hear<GenomeRequest>();
    EXPECT_TRUE(request);
    return request.value_or(GenomeRequest{});
}

void WorkerTest::let_make_founders(PlayedCoordinator& coordinator, std::uint32_t count) const {
    ThreadPool threads(1);
    ASSERT_TRUE(coordinator.hear<Request>());
    ShardOrder order;
    order.digest = make_round(make_strategy(experiment_), {}, false, threads)->digest;
    order.shard = first_shard_of(0);
    order.end = count;
    coordinator.say(order);
    ASSERT_TRUE(coordinator.hear<Request>());
}

void WorkerTest::expect_result(PlayedCoordinator& coordinator, std::uint64_t shard) const {
    const auto request = coordinator.hear<Request>();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->digest, round_->digest);
    ASSERT_EQ(request->results.size(), 1U);
    EXPECT_EQ(request->results[0].shard, shard);
    EXPECT_TRUE(request->results[0].scores.scores.valid(0));
}

void WorkerTest::expect_result_with_answers(PlayedCoordinator& coordinator,
                                            std::uint64_t shard) const {
    coordinator.say(order_of(*round_, shard));
    const auto lacked = coordinator.hear<GenomeRequest>();
    ASSERT_TRUE(lacked);
    coordinator.say(answer_to(*lacked));
    expect_result(coordinator, shard);
}

void WorkerTest::expect_failure(PlayedCoordinator& coordinator, std::uint64_t shard,
                                const testing::Matcher<std::string>& text) {
    const auto failure = coordinator.hear<ShardFailure>();
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->shard, shard);
    EXPECT_THAT(failure->text, text);
    EXPECT_FALSE(failure->leaving);
    const auto request = coordinator.hear<Request>();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->room, 1U);
}

void WorkerTest::expect_room(PlayedCoordinator& coordinator) const {
    const auto request = coordinator.hear<Request>();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->digest, round_->digest);
    EXPECT_EQ(request->room, 1U);
    EXPECT_TRUE(request->results.empty());
}

}  // namespace cambrian::distributed::worker_support
