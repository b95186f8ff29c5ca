#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "cambrian/tests/distributed/support/worker_support.hpp"

// What a worker does with the genomes that it lacks and that others ask for.
namespace cambrian::distributed::worker_support {
namespace {

using testing::HasSubstr;

TEST_F(WorkerTest, TheRightGenomesBeginTheShard) {
    PlayedCoordinator coordinator(experiment_);
    coordinator.say(answer_to(begin(coordinator)));
    expect_result(coordinator, one);
}

TEST_F(WorkerTest, ADamagedGenomeFailsTheShard) {
    PlayedCoordinator coordinator(experiment_);
    GenomeReply reply = answer_to(begin(coordinator));
    reply.structures[0].resize(reply.structures[0].size() / 2);
    coordinator.say(reply);
    expect_failure(coordinator, one, HasSubstr("rank 0"));
    // It has room again, and asks once more.
    expect_result_with_answers(coordinator, two);
}

TEST_F(WorkerTest, AnswersThatNobodyCanUseAreIgnored) {
    PlayedCoordinator coordinator(experiment_);
    const GenomeReply right = answer_to(begin(coordinator));
    coordinator.say(answer_to(GenomeRequest{{0}}));  // Nobody asked for the worst founder.
    coordinator.say(MessageKind::genomes, std::vector<std::byte>(64, std::byte{0x5A}));
    coordinator.say(right);
    expect_result(coordinator, one);
}

TEST_F(WorkerTest, TakesWhatItWaitsForOutOfAnAnswerThatTellsMore) {
    PlayedCoordinator coordinator(experiment_);
    GenomeReply reply = answer_to(begin(coordinator));
    // Another rank has given these by now.
    constexpr evolve::BirthId given = 9'000;
    const GenomeReply more = answer_to(GenomeRequest{{given}});
    reply.genomes.insert(reply.genomes.begin(), {given, 0, more.genomes[0].weights});
    reply.structures.insert(reply.structures.begin(), more.structures[0]);
    for (std::size_t i = 1; i < reply.genomes.size(); ++i) ++reply.genomes[i].structure;
    reply.gone = {given + 1};
    coordinator.say(reply);
    expect_result(coordinator, one);
}

TEST_F(WorkerTest, ADamagedChildFailsTheShard) {
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    ShardOrder order = order_of(*round_, one);
    order.children = {{std::vector<std::byte>(64, std::byte{0x5A}), 0}};
    coordinator.say(order);
    expect_failure(coordinator, one, testing::_);
    // It holds the shard no more: it takes it once again.
    expect_result_with_answers(coordinator, one);
}

TEST_F(WorkerTest, AGenomeThatIsGoneEndsTheWaitWithoutAFailure) {
    PlayedCoordinator coordinator(experiment_);
    coordinator.say(GenomeReply{{}, {}, begin(coordinator).origins});
    const auto request = coordinator.hear<Request>();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->room, 1U);
    EXPECT_TRUE(request->results.empty());
}

TEST_F(WorkerTest, AsksTheRankThatHasTheGenome) {
    round_ = second_round(experiment_, another);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    coordinator.say(order_of(*round_, one));
    coordinator.say_as_third(answer_to(*coordinator.third_hears<GenomeRequest>()));
    expect_result(coordinator, one);
}

TEST_F(WorkerTest, AsksTheCoordinatorForWhatAnotherRankDoesNotGive) {
    round_ = second_round(experiment_, another);
    for (const bool silent : {true, false}) {
        PlayedCoordinator coordinator(experiment_);
        ASSERT_TRUE(coordinator.hear<Request>());
        coordinator.say(order_of(*round_, one));
        const auto asked = coordinator.third_hears<GenomeRequest>();
        ASSERT_TRUE(asked);
        if (!silent) {
            coordinator.say_as_third(GenomeReply{{}, {}, asked->origins});
        }
        const auto again = coordinator.hear<GenomeRequest>();  // After a quarter of a lease.
        ASSERT_TRUE(again);
        EXPECT_THAT(again->origins, testing::UnorderedElementsAreArray(asked->origins));
        coordinator.say(answer_to(*again));
        expect_result(coordinator, one);
    }
}

TEST_F(WorkerTest, DoesNotAskARankThatAnswersNobody) {
    round_ = second_round(experiment_, another);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    ShardOrder order = order_of(*round_, one);
    order.absent = {another};
    coordinator.say(order);
    coordinator.say(answer_to(*coordinator.hear<GenomeRequest>()));
    expect_result(coordinator, one);
}

TEST_F(WorkerTest, GivesWhatItMadeToWhoeverAsks) {
    PlayedCoordinator coordinator(experiment_);
    ASSERT_NO_FATAL_FAILURE(let_make_founders(coordinator, 3));
    coordinator.say(GenomeRequest{{2, 7, 2, 7}});  // It tells each once.
    const auto reply = coordinator.hear<GenomeReply>();
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->genomes.size(), 1U);
    const evolve::Individual expected(founder(experiment_, 2));
    EXPECT_EQ(reply->genomes[0], (NamedGenome{2, 0, expected.weights}));
    ASSERT_EQ(reply->structures.size(), 1U);
    EXPECT_EQ(reply->structures[0], evolve::encode(*expected.structure));
    EXPECT_EQ(reply->gone, std::vector<evolve::BirthId>{7});
}

TEST_F(WorkerTest, GivesManyGenomesAsTheyAreTaken) {
    experiment_.variation.founder = wide_founder();
    PlayedCoordinator coordinator(experiment_);
    ASSERT_NO_FATAL_FAILURE(let_make_founders(coordinator, 8));
    coordinator.say(GenomeRequest{{0, 1, 2, 3, 4, 5, 6, 7}});
    for (std::size_t given = 0; given < 8;) {
        const auto reply = coordinator.hear<GenomeReply>();
        ASSERT_TRUE(reply) << given << " were given";
        given += reply->genomes.size();
    }
}

}  // namespace
}  // namespace cambrian::distributed::worker_support
