#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cambrian/tests/distributed/support/worker_support.hpp"

// How a worker comes to rounds that others tell it, and to its shares of them.
namespace cambrian::distributed::worker_support {
namespace {

TEST_F(WorkerTest, DoesTheOrdersAfterOneThatItRefuses) {
    round_ = second_round(experiment_, 1);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    // They are here before what leads to their round.
    for (const std::uint64_t shard : {one, two}) {
        ShardOrder order = order_without_state(*round_, shard);
        order.end = shard == one ? round_->order.size() + 1 : 1;
        coordinator.say(order);
    }
    coordinator.say_as_third(RoundEnd{0, record_of_founders(), {1}});
    const auto refusal = coordinator.hear<Request>();
    ASSERT_TRUE(refusal);
    EXPECT_THAT(refusal->results, testing::IsEmpty());
    expect_result(coordinator, two);
}

TEST_F(WorkerTest, FollowsARoundThatAnotherRankTellsItAndPassesItOn) {
    round_ = second_round(experiment_, 1);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    // The order is here first.
    coordinator.say(order_without_state(*round_, one));
    RoundEnd end{0, record_of_founders()};
    for (std::uint32_t rank = 1; rank <= another; ++rank) end.ranks.push_back(rank);
    RoundEnd former = end;
    former.epoch = 7;
    coordinator.say_as_third(former);  // Of another coordinator: it does not count.
    coordinator.say_as_third(end);
    expect_result(coordinator, one);
    EXPECT_EQ(coordinator.third_hears<RoundEnd>(), end);
}

TEST_F(WorkerTest, BeginsARoundWithItsFirstShareUnasked) {
    round_ = second_round(experiment_, 1);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    RoundEnd end{0, record_of_founders(), {0, 1}, {{7, 0}, {1, 0}}};
    coordinator.say_as_third(end);
    const std::uint64_t shard = first_shard_of(1) + 1;
    expect_result(coordinator, shard);
    coordinator.say(order_of(*round_, shard + 1));
    expect_result(coordinator, shard + 1);
}

TEST_F(WorkerTest, BeginsADividedRoundWithItsPartUnasked) {
    round_ = second_round(experiment_, 1);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    RoundEnd end{0, record_of_founders(), {1}, {{1, 0}}, 3};
    coordinator.say_as_third(end);
    const auto request = coordinator.hear<Request>();
    ASSERT_TRUE(request);
    ASSERT_EQ(request->results.size(), 1U);
    EXPECT_EQ(request->results[0].shard, first_shard_of(1));
    // One of four.
    const std::size_t all = round_->order.size();
    EXPECT_EQ(request->results[0].scores.scores.size(), all - all * 3 / 4);
}

TEST_F(WorkerTest, DoesAFirstShareOnceThatIsOrderedToo) {
    round_ = second_round(experiment_, 1);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    // The order is here first.
    coordinator.say(order_without_state(*round_, first_shard_of(1)));
    coordinator.say_as_third(RoundEnd{0, record_of_founders(), {1}, {{1, 0}}});
    expect_result(coordinator, first_shard_of(1));
    coordinator.say(order_of(*round_, two));
    expect_result(coordinator, two);
}

TEST_F(WorkerTest, TakesItsFirstShareAlsoWhereAnOrderHasLedItToTheRound) {
    round_ = second_round(experiment_, 1);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    expect_result_with_answers(coordinator, first_shard_of(1) + 5);
    coordinator.say_as_third(RoundEnd{0, record_of_founders(), {1}, {{1, 0}}});
    expect_result(coordinator, first_shard_of(1));
}

TEST_F(WorkerTest, DoesAFirstShareOnceThatItHearsOfAfterItsAnswer) {
    round_ = second_round(experiment_, 1);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    expect_result_with_answers(coordinator, first_shard_of(1));
    coordinator.say_as_third(RoundEnd{0, record_of_founders(), {1}, {{1, 0}}});
    coordinator.say(order_of(*round_, first_shard_of(1) + 3));
    expect_result(coordinator, first_shard_of(1) + 3);
}

TEST_F(WorkerTest, FollowsARoundWhoseEndHasOvertakenTheOneBefore) {
    const auto [second, first, next] = two_records(experiment_);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    coordinator.say_as_third(RoundEnd{0, next, {1}, {{1, 0}}});
    coordinator.say_as_third(RoundEnd{0, first, {1}});
    // It begins the third: what was made in the second it lacks.
    const auto request = coordinator.hear<GenomeRequest>();
    ASSERT_TRUE(request);
    EXPECT_TRUE(std::ranges::all_of(request->origins, [&second = second](evolve::BirthId origin) {
        return origin < second->strategy->first_birth() + second->strategy->births();
    }));
}

TEST_F(WorkerTest, DoesAShardWhoseOrderTheEndOfARoundHasOvertaken) {
    experiment_.reevaluate = Reevaluate::never;
    experiment_.steady_state.block = experiment_.population.size / 4;
    experiment_.steady_state.window = 2 * experiment_.steady_state.block;
    const Record record = record_of_founders();
    PlayedCoordinator coordinator(experiment_);
    const auto asked = coordinator.hear<Request>();
    ASSERT_TRUE(asked);
    coordinator.say_as_third(RoundEnd{0, record, {1}});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ShardOrder order;
    order.digest = asked->digest;
    order.generation = asked->generation;
    order.shard = first_shard_of(record.generation + 1);
    order.end = 1;
    coordinator.say(order);
    const auto answer = coordinator.hear<Request>();
    ASSERT_TRUE(answer);
    EXPECT_NE(answer->digest, asked->digest);
    ASSERT_EQ(answer->results.size(), 1U);
    EXPECT_EQ(answer->results[0].shard, order.shard);
}

TEST_F(WorkerTest, AsksTheCoordinatorForARoundThatNobodyTellsIt) {
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    coordinator.say(order_without_state(*round_, one));
    ASSERT_TRUE(coordinator.hear<RoundRequest>());  // After a quarter of a lease.
    ShardOrder answer = order_of(*round_, 0);
    answer.end = 0;
    coordinator.say(answer);
    coordinator.say(answer_to(*coordinator.hear<GenomeRequest>()));
    expect_result(coordinator, one);
}

}  // namespace
}  // namespace cambrian::distributed::worker_support
