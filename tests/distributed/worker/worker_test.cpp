#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <semaphore>
#include <thread>

#include "cambrian/distributed/generation/first_shares.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/worker/pending_shards.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/variation/variation.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// What a worker does with orders and with answers to its requests, sound and unsound ones.
namespace cambrian::distributed {
namespace {

using testing::HasSubstr;

evolve::Genome founder(const Experiment& experiment, evolve::BirthId id) {
    const evolve::Variation variation(experiment.seed, experiment.variation);
    return variation.materialise({id, evolve::Recipe::sample, {}}, {}).genome;
}

/// What the strategy decides when the last founder is the best.
/// @param sign -1: the first one is.
evolve::Decision decision_of_founders(const Experiment& experiment, double sign = 1.0) {
    ThreadPool threads(1);
    const SharedStrategy founders = make_strategy(experiment);
    evolve::Scores scores(founders->births());
    for (std::size_t i = 0; i < scores.size(); ++i) {
        scores.fitness[i] = sign * static_cast<double>(i);
        scores.status[i] = evolve::Status::ok;
    }
    return founders->decide(scores, threads);
}

/// The round after the founders, of whom rank 0 or another one has all.
SharedRound second_round(const Experiment& experiment, std::uint32_t holder) {
    ThreadPool threads(1);
    SharedStrategy second = make_strategy(experiment)->apply(decision_of_founders(experiment));
    const std::size_t members = second->parent_pool().size();
    return make_round(std::move(second), std::vector<std::uint32_t>(members, holder), false,
                      threads);
}

/// The second round, all of which rank 1 has, and the records of the first and of it.
struct TwoRecords {
    SharedRound second;
    Record first;
    Record next;
};
TwoRecords two_records(const Experiment& experiment) {
    SharedRound second = second_round(experiment, 1);
    ThreadPool threads(1);
    evolve::Scores scores(second->strategy->births());
    std::ranges::fill(scores.fitness, 1.0);
    std::ranges::fill(scores.status, evolve::Status::ok);
    const auto births = static_cast<std::uint32_t>(second->strategy->births());
    const auto evaluated = static_cast<std::uint32_t>(second->order.size());
    Record first{0, decision_of_founders(experiment), {{births, 1}}};
    Record next{1, second->strategy->decide(scores, threads), {{evaluated, 1}}};
    return {std::move(second), std::move(first), std::move(next)};
}

/// Shards of the second round.
constexpr std::uint64_t one = first_shard_of(1);
constexpr std::uint64_t two = one + 1;

/// The first birth of a round, for a rank that knows nothing of it.
ShardOrder order_of(const Round& round, std::uint64_t shard) {
    ShardOrder order;
    order.state = RoundState{round.strategy->save(), round.holders};
    order.digest = round.digest;
    order.shard = shard;
    order.end = 1;
    return order;
}

/// The rank of another worker, to which rank 1 passes on what all are told.
constexpr int another = 11;

/// A worker in a thread of its own; the test plays rank 0.
class PlayedCoordinator {
  public:
    explicit PlayedCoordinator(const Experiment& experiment)
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
    ~PlayedCoordinator() { static_cast<void>(end()); }
    /// What the worker threw.
    std::string end() {
        if (worker_.joinable()) {
            say(Stop{"the test has ended"});
            worker_.join();
        }
        return failure_;
    }

    template <typename T>
    void say(const T& message) {
        send(communicator_, 1, message);
    }
    void say(MessageKind kind, std::vector<std::byte> payload) {
        communicator_.send(1, kind, std::move(payload));
    }
    template <typename T>
    void say_as_third(const T& message) {
        send(third_, 1, message);
    }
    /// The next message of a kind; empty after ten seconds without one.
    template <typename T>
    std::optional<T> hear() {
        return hear<T>(communicator_);
    }
    /// The same for the other worker.
    template <typename T>
    std::optional<T> third_hears() {
        return hear<T>(third_);
    }

  private:
    template <typename T>
    std::optional<T> hear(Communicator& communicator) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (std::chrono::steady_clock::now() < end)
            if (const auto message = communicator.receive(std::chrono::milliseconds(100));
                message && message->kind == T::kind)
                return decode_message<T>(message->payload, "rank 1");
        return std::nullopt;
    }

    RecordedNetwork network_{another + 1};
    Communicator communicator_;
    Communicator third_;
    std::string failure_;
    std::thread worker_;
};

class WorkerTest : public testing::Test {
  protected:
    WorkerTest() { experiment_.distribution.lease_seconds = 4.0; }

    /// The answer to a request.
    GenomeReply answer_to(const GenomeRequest& request) {
        GenomeReply reply;
        for (const evolve::BirthId origin : request.origins) {
            const evolve::Individual genome(founder(experiment_, origin));
            reply.genomes.push_back(
                {origin, static_cast<std::uint32_t>(reply.structures.size()), genome.weights});
            reply.structures.push_back(evolve::encode(*genome.structure));
        }
        return reply;
    }
    /// A shard waits for its parents when the request comes back.
    GenomeRequest begin(PlayedCoordinator& coordinator) {
        EXPECT_TRUE(coordinator.hear<Request>());  // The first one asks for work.
        coordinator.say(order_of(*round_, one));
        const auto request = coordinator.hear<GenomeRequest>();
        EXPECT_TRUE(request);
        return request.value_or(GenomeRequest{});
    }
    void expect_result(PlayedCoordinator& coordinator, std::uint64_t shard) {
        const auto request = coordinator.hear<Request>();
        ASSERT_TRUE(request);
        EXPECT_EQ(request->digest, round_->digest);
        ASSERT_EQ(request->results.size(), 1U);
        EXPECT_EQ(request->results[0].shard, shard);
        EXPECT_TRUE(request->results[0].scores.scores.valid(0));
    }

    TemporaryDirectory place_;
    Experiment experiment_ = xor_experiment(place_.path() / "run");
    SharedRound round_ = second_round(experiment_, 0);
};

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
    const auto failure = coordinator.hear<ShardFailure>();
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->shard, one);
    EXPECT_THAT(failure->text, HasSubstr("rank 0"));
    EXPECT_FALSE(failure->leaving);
    EXPECT_EQ(coordinator.hear<Request>()->room, 1U);
    // It has room again, and asks once more.
    coordinator.say(order_of(*round_, two));
    coordinator.say(answer_to(*coordinator.hear<GenomeRequest>()));
    expect_result(coordinator, two);
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
    const auto failure = coordinator.hear<ShardFailure>();
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->shard, one);
    EXPECT_FALSE(failure->leaving);
    EXPECT_EQ(coordinator.hear<Request>()->room, 1U);
    // It holds the shard no more: it takes it once again.
    coordinator.say(order_of(*round_, one));
    coordinator.say(answer_to(*coordinator.hear<GenomeRequest>()));
    expect_result(coordinator, one);
}

TEST_F(WorkerTest, DoesTheOrdersAfterOneThatItRefuses) {
    round_ = second_round(experiment_, 1);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    // They are here before what leads to their round.
    for (const std::uint64_t shard : {one, two}) {
        ShardOrder order = order_of(*round_, shard);
        order.state.reset();
        order.generation = 1;
        order.end = shard == one ? round_->order.size() + 1 : 1;
        coordinator.say(order);
    }
    const auto births = static_cast<std::uint32_t>(round_->strategy->births());
    coordinator.say_as_third(
        RoundEnd{0, {0, decision_of_founders(experiment_), {{births, 1}}}, {1}});
    const auto refusal = coordinator.hear<Request>();
    ASSERT_TRUE(refusal);
    EXPECT_THAT(refusal->results, testing::IsEmpty());
    expect_result(coordinator, two);
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
    ThreadPool threads(1);
    ASSERT_TRUE(coordinator.hear<Request>());
    ShardOrder order;
    order.digest = make_round(make_strategy(experiment_), {}, false, threads)->digest;
    order.shard = first_shard_of(0);
    order.end = 3;
    coordinator.say(order);
    ASSERT_TRUE(coordinator.hear<Request>());
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

TEST_F(WorkerTest, AsksForTheStateOfARoundItDoesNotKnow) {
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    ShardOrder order = order_of(*round_, one);
    order.state.reset();
    coordinator.say(order);
    const auto request = coordinator.hear<Request>();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->room, 1U);
    EXPECT_NE(request->digest, round_->digest);
    coordinator.say(order_of(*round_, two));
    coordinator.say(answer_to(*coordinator.hear<GenomeRequest>()));
    expect_result(coordinator, two);
}

TEST_F(WorkerTest, FollowsARoundThatAnotherRankTellsItAndPassesItOn) {
    round_ = second_round(experiment_, 1);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    // The order is here first.
    ShardOrder order = order_of(*round_, one);
    order.state.reset();
    order.generation = 1;
    coordinator.say(order);
    const auto births = static_cast<std::uint32_t>(round_->strategy->births());
    RoundEnd end{0, {0, decision_of_founders(experiment_), {{births, 1}}}};
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
    const auto births = static_cast<std::uint32_t>(round_->strategy->births());
    RoundEnd end{
        0, {0, decision_of_founders(experiment_), {{births, 1}}}, {0, 1}, {{7, 0}, {1, 0}}};
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
    const auto births = static_cast<std::uint32_t>(round_->strategy->births());
    RoundEnd end{0, {0, decision_of_founders(experiment_), {{births, 1}}}, {1}, {{1, 0}}, 3};
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
    ShardOrder order = order_of(*round_, first_shard_of(1));
    order.state.reset();
    order.generation = 1;
    coordinator.say(order);
    const auto births = static_cast<std::uint32_t>(round_->strategy->births());
    coordinator.say_as_third(
        RoundEnd{0, {0, decision_of_founders(experiment_), {{births, 1}}}, {1}, {{1, 0}}});
    expect_result(coordinator, first_shard_of(1));
    coordinator.say(order_of(*round_, two));
    expect_result(coordinator, two);
}

TEST_F(WorkerTest, TakesItsFirstShareAlsoWhereAnOrderHasLedItToTheRound) {
    round_ = second_round(experiment_, 1);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    coordinator.say(order_of(*round_, first_shard_of(1) + 5));
    coordinator.say(answer_to(*coordinator.hear<GenomeRequest>()));
    expect_result(coordinator, first_shard_of(1) + 5);
    const auto births = static_cast<std::uint32_t>(round_->strategy->births());
    coordinator.say_as_third(
        RoundEnd{0, {0, decision_of_founders(experiment_), {{births, 1}}}, {1}, {{1, 0}}});
    expect_result(coordinator, first_shard_of(1));
}

TEST_F(WorkerTest, DoesAFirstShareOnceThatItHearsOfAfterItsAnswer) {
    round_ = second_round(experiment_, 1);
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    coordinator.say(order_of(*round_, first_shard_of(1)));
    coordinator.say(answer_to(*coordinator.hear<GenomeRequest>()));
    expect_result(coordinator, first_shard_of(1));
    const auto births = static_cast<std::uint32_t>(round_->strategy->births());
    coordinator.say_as_third(
        RoundEnd{0, {0, decision_of_founders(experiment_), {{births, 1}}}, {1}, {{1, 0}}});
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
    ShardOrder order = order_of(*third, first_shard_of(2));
    order.state.reset();
    order.generation = 2;
    coordinator.say(order);
    // It lacks parents, and nothing else.
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(coordinator.hear<GenomeRequest>());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
}

TEST_F(WorkerTest, DoesAShardWhoseOrderTheEndOfARoundHasOvertaken) {
    experiment_.reevaluate = Reevaluate::never;
    experiment_.steady_state.block = experiment_.population.size / 4;
    experiment_.steady_state.window = 2 * experiment_.steady_state.block;
    const auto births = static_cast<std::uint32_t>(make_strategy(experiment_)->births());
    const Record record{0, decision_of_founders(experiment_), {{births, 1}}};
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
    ShardOrder order = order_of(*round_, one);
    order.state.reset();
    order.generation = 1;
    coordinator.say(order);
    ASSERT_TRUE(coordinator.hear<RoundRequest>());  // After a quarter of a lease.
    ShardOrder answer = order_of(*round_, 0);
    answer.end = 0;
    coordinator.say(answer);
    coordinator.say(answer_to(*coordinator.hear<GenomeRequest>()));
    expect_result(coordinator, one);
}

TEST_F(WorkerTest, ScoresOfAnotherStateDoNotCountAfterTheRightOne) {
    std::counting_semaphore<> begun{0};
    std::latch go{1};
    experiment_.task = watched_task(sum_task(), [&](std::uint64_t) {
        begun.release();
        go.wait();
    });
    const auto births = static_cast<std::uint32_t>(round_->strategy->births());
    const Record other{0, decision_of_founders(experiment_, -1.0), {{births, 1}}};
    PlayedCoordinator coordinator(experiment_);
    ASSERT_TRUE(coordinator.hear<Request>());
    coordinator.say_as_third(RoundEnd{0, other, {1}, {{1, 0}}});
    // Its first share, of births that nobody means.
    EXPECT_TRUE(begun.try_acquire_for(std::chrono::seconds(10)));
    ShardOrder order = order_of(*round_, two);
    order.generation = 1;
    const ShardOrder with_state = order;
    order.state.reset();
    coordinator.say(order);
    const auto asked = coordinator.hear<Request>();
    EXPECT_NE(asked ? asked->digest : round_->digest, round_->digest);
    coordinator.say(with_state);
    const auto lacked = coordinator.hear<GenomeRequest>();
    EXPECT_TRUE(lacked) << "it has not come to the right state";
    go.count_down();
    const auto request = coordinator.hear<Request>();
    ASSERT_TRUE(request && lacked);
    EXPECT_EQ(request->digest, round_->digest);
    EXPECT_EQ(request->room, 1U);
    EXPECT_TRUE(request->results.empty());
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
    const auto request = coordinator.hear<Request>();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->digest, round_->digest);
    EXPECT_EQ(request->room, 1U);
    EXPECT_TRUE(request->results.empty());
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
}  // namespace cambrian::distributed
