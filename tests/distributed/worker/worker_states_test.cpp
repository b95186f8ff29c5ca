#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <semaphore>
#include <thread>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/distributed/support/worker_support.hpp"

// What a worker does where it is in another state of the run than others, or in none.
namespace cambrian::distributed::worker_support {
namespace {

using testing::HasSubstr;

TEST_F(WorkerTest, AsksForTheStateOfARoundItDoesNotKnow) {
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    ShardOrder order = order_without_state(*round_, one);
    order.generation = 0;
    coordinator.say(order);
    const auto request = coordinator.hear<Request>();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->room, 1U);
    EXPECT_NE(request->digest, round_->digest);
    expect_result_with_answers(coordinator, two);
}

TEST_F(WorkerTest, AStateThatWasOvertakenLeadsNobodyBack) {
    const auto [second, first, next] = two_records(experiment_);
    ThreadPool threads(1);
    Foresight foresight;
    const SharedRound third = next_round(*second, *second, next, false, threads, foresight).round;
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    coordinator.say_as_third(RoundEnd{0, first, {1}});
    coordinator.say_as_third(RoundEnd{0, next, {1}});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ShardOrder behind = order_of(*second, 0);
    behind.begin = behind.end = 0;
    coordinator.say(behind);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    coordinator.say(order_without_state(*third, first_shard_of(2)));
    // It lacks parents, and nothing else.
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(coordinator.hear<GenomeRequest>());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
}

TEST_F(WorkerTest, ScoresOfAnotherStateDoNotCountAfterTheRightOne) {
    std::counting_semaphore<> begun{0};
    std::latch go{1};
    experiment_.task = watched_task(sum_task(), [&](std::uint64_t) {
        begun.release();
        go.wait();
    });
    const Record other = record_of_founders(-1.0);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    coordinator.say_as_third(RoundEnd{0, other, {1}, {{1, 0}}});
    // Its first share, of births that nobody means.
    EXPECT_TRUE(begun.try_acquire_for(std::chrono::seconds(10)));
    coordinator.say(order_without_state(*round_, two));
    const auto asked = coordinator.hear<Request>();
    EXPECT_NE(asked ? asked->digest : round_->digest, round_->digest);
    ShardOrder order = order_of(*round_, two);
    order.generation = 1;
    coordinator.say(order);
    const auto lacked = coordinator.hear<GenomeRequest>();
    EXPECT_TRUE(lacked) << "it has not come to the right state";
    go.count_down();
    expect_room(coordinator);
    ASSERT_TRUE(lacked);
    coordinator.say(answer_to(*lacked));
    expect_result(coordinator, two);
}

TEST_F(WorkerTest, GenomesThatAnotherStateAskedForFillNothingOfTheRightOne) {
    ThreadPool threads(1);
    const SharedRound other =
        make_round(make_strategy(experiment_)->apply(decision_of_founders(experiment_, -1.0)),
                   std::vector(round_->holders), false, threads);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    coordinator.say(order_of(*other, one));
    const auto stale = coordinator.hear<GenomeRequest>();
    ASSERT_TRUE(stale);
    ShardOrder order = order_of(*round_, two);
    order.generation = 1;
    coordinator.say(order);
    // It gives the first shard back, and says where it is now.
    expect_room(coordinator);
    const auto lacked = coordinator.hear<GenomeRequest>();
    ASSERT_TRUE(lacked);
    coordinator.say(answer_to(*stale));
    coordinator.say(answer_to(*lacked));
    expect_result(coordinator, two);
}

TEST_F(WorkerTest, TellsWhoCoordinatesThatItTakesNoPart) {
    experiment_.reevaluate = Reevaluate::always;
    experiment_.steady_state.window = 2;  // No strategy can be made of both.
    RecordedNetwork network(3);
    Communicator communicator = network.communicator(2);
    const auto backend = make_cpu_backend({});
    const std::atomic<int> interrupt{0};
    const Reign reign{2, 1, {0}};
    EXPECT_THROW(static_cast<void>(run_worker(communicator, *backend, experiment_, interrupt,
                                              WorkerLimits{}, reign)),
                 ConfigError);
    ASSERT_EQ(network.records().size(), 1U);
    EXPECT_EQ(network.records()[0].kind, MessageKind::shard_failed);
    EXPECT_EQ(network.records()[0].target, reign.rank);
}

TEST_F(WorkerTest, LeavesWhenItComesToAnotherState) {
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    ShardOrder order = order_of(*round_, one);
    order.digest.low ^= 1U;
    coordinator.say(order);
    const auto failure = coordinator.hear<ShardFailure>();
    ASSERT_TRUE(failure);
    EXPECT_TRUE(failure->leaving);
    EXPECT_THAT(coordinator.end(), HasSubstr("another state of the run"));
}

}  // namespace
}  // namespace cambrian::distributed::worker_support
