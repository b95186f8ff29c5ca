#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/distributed/worker/pending_shards.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/variation/variation.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// What a worker does with answers to its requests for genomes, sound and unsound ones.
namespace cambrian::distributed {
namespace {

using testing::HasSubstr;

evolve::Genome founder(const Experiment& experiment, evolve::BirthId id) {
    const evolve::Variation variation(experiment.seed, experiment.variation);
    return variation.materialise({id, evolve::Recipe::sample, {}}, {}).genome;
}

/// A shard with one birth that carries a genome over.
ShardOrder order_of(std::uint64_t shard, Hash128 genome) {
    ShardOrder order;
    order.shard = shard;
    order.parents = {{1, genome, 0.5, 0}};
    order.births = {{10 + shard, evolve::Recipe::carry, {order.parents[0]}}};
    return order;
}

/// A worker in a thread of its own; the test plays rank 0.
class PlayedCoordinator {
  public:
    explicit PlayedCoordinator(const Experiment& experiment)
        : communicator_(network_.communicator(0)), worker_([this, &experiment] {
              Communicator communicator = network_.communicator(1);
              const auto backend = make_cpu_backend({});
              const std::atomic<int> interrupt{0};
              static_cast<void>(run_worker(communicator, *backend, experiment, interrupt));
          }) {}
    ~PlayedCoordinator() {
        say(Stop{"the test has ended"});
        worker_.join();
    }

    template <typename T>
    void say(const T& message) {
        send(communicator_, 1, message);
    }
    void say(MessageKind kind, std::vector<std::byte> payload) {
        communicator_.send(1, kind, std::move(payload));
    }
    /// The next message of a kind; empty after ten seconds without one.
    template <typename T>
    std::optional<T> hear() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (std::chrono::steady_clock::now() < end)
            if (const auto message = communicator_.receive(std::chrono::milliseconds(100));
                message && message->kind == T::kind)
                return decode_message<T>(message->payload, "rank 1");
        return std::nullopt;
    }

  private:
    RecordedNetwork network_{2};
    Communicator communicator_;
    std::thread worker_;
};

class GenomeReplies : public testing::Test {
  protected:
    /// A shard waits for `genome_` when `answer` comes.
    void give(const std::function<void(PlayedCoordinator&)>& answer) {
        ASSERT_TRUE(coordinator_.hear<Request>());  // The first one asks for work.
        coordinator_.say(order_of(1, hash_));
        EXPECT_EQ(coordinator_.hear<GenomeRequest>(), GenomeRequest{{hash_}});
        answer(coordinator_);
    }

    void expect_failure(const std::string& text) {
        const auto failure = coordinator_.hear<ShardFailure>();
        ASSERT_TRUE(failure);
        EXPECT_EQ(failure->shard, 1U);
        EXPECT_THAT(failure->text, HasSubstr(text));
        EXPECT_FALSE(failure->leaving);
        expect_room_and_work();
    }

    /// The worker has room again, and works on a shard that comes with its genome.
    void expect_room_and_work() {
        EXPECT_EQ(coordinator_.hear<Request>(), (Request{1, {}}));
        ShardOrder order = order_of(2, hash_);
        order.genomes = {evolve::encode(genome_)};
        coordinator_.say(order);
        expect_result(2);
    }

    void expect_result(std::uint64_t shard) {
        const auto request = coordinator_.hear<Request>();
        ASSERT_TRUE(request);
        ASSERT_EQ(request->results.size(), 1U);
        EXPECT_EQ(request->results[0].shard, shard);
        ASSERT_EQ(request->results[0].outcomes.size(), 1U);
        EXPECT_EQ(request->results[0].outcomes[0].genome, hash_);
    }

    TemporaryDirectory place_;
    Experiment experiment_ = xor_experiment(place_.path() / "run");
    evolve::Genome genome_ = founder(experiment_, 1);
    evolve::Genome other_ = founder(experiment_, 2);
    Hash128 hash_ = evolve::content_hash(genome_);
    Hash128 other_hash_ = evolve::content_hash(other_);
    PlayedCoordinator coordinator_{experiment_};
};

TEST_F(GenomeReplies, TheRightGenomeBeginsTheShard) {
    give([&](PlayedCoordinator& coordinator) {
        coordinator.say(GenomeReply{{{hash_, evolve::encode(genome_)}}, {}});
    });
    expect_result(1);
}

TEST_F(GenomeReplies, AnotherGenomeThanItIsNamedFailsTheShard) {
    give([&](PlayedCoordinator& coordinator) {
        coordinator.say(GenomeReply{{{hash_, evolve::encode(other_)}}, {}});
    });
    expect_failure("its content is " + other_hash_.hex() + ", it was asked for as " + hash_.hex());
}

TEST_F(GenomeReplies, ADamagedGenomeFailsTheShard) {
    give([&](PlayedCoordinator& coordinator) {
        std::vector<std::byte> bytes = evolve::encode(genome_);
        bytes.resize(bytes.size() / 2);
        coordinator.say(GenomeReply{{{hash_, bytes}}, {}});
    });
    expect_failure("the coordinator");
}

TEST_F(GenomeReplies, AGenomeThatNobodyAskedForFailsWhatWaits) {
    give([&](PlayedCoordinator& coordinator) {
        coordinator.say(GenomeReply{{{other_hash_, evolve::encode(other_)}}, {}});
    });
    expect_failure("nobody asked for " + other_hash_.hex());
}

TEST_F(GenomeReplies, ADamagedFrameFailsWhatWaits) {
    give([&](PlayedCoordinator& coordinator) {
        coordinator.say(MessageKind::genomes, std::vector<std::byte>(64, std::byte{0x5A}));
    });
    expect_failure("cannot be read");
}

TEST_F(GenomeReplies, AGenomeThatIsGoneEndsTheWaitWithoutAFailure) {
    give([&](PlayedCoordinator& coordinator) { coordinator.say(GenomeReply{{}, {hash_}}); });
    expect_room_and_work();
}

TEST(PendingShards, TwoThatWaitForOneGenomeAreAnsweredTwice) {
    PendingShards waiting;
    const Hash128 hash{1, 2};
    for (const std::uint64_t shard : {1U, 2U}) {
        PendingShard& added = waiting.add(order_of(shard, hash));
        added.parents->resize(1);
        added.missing[hash].insert(0);
        EXPECT_EQ(waiting.request_for(added).hashes, std::vector{hash});
    }
    const GenomeReply reply{{{hash, {}}}, {}};
    waiting.check_answer(reply);
    EXPECT_TRUE(waiting.take_complete().empty());
    waiting.fill(hash, std::make_shared<const evolve::Genome>());
    EXPECT_EQ(waiting.take_complete().size(), 2U);
    waiting.check_answer(reply);
    EXPECT_THROW(waiting.check_answer(reply), InputError);
}

}  // namespace
}  // namespace cambrian::distributed
