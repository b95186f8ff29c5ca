#include "cambrian/distributed/worker/genome_answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/genome/weight_rows.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Genomes for another rank: no more ahead than it takes. Genomes from another rank: structures once
// each, whatever else is told refused.
namespace cambrian::distributed {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GenomeAnswersTest : public testing::Test {
  protected:
    /// A founder and others of its structure.
    GenomeReply reply_of(std::size_t genomes, const Experiment& experiment) {
        const evolve::Variation variation(experiment.seed, experiment.variation);
        evolve::ChildPlan plan;
        evolve::Individual founder;
        variation.materialise({}, std::span<const evolve::Individual* const>{}, plan, founder);
        GenomeReply reply;
        reply.structures.push_back(evolve::encode(*founder.structure));
        for (std::uint64_t id = 0; id < genomes; ++id) {
            born_.push_back(founder);
            born_.back().weights[0] += static_cast<float>(id);
            reply.genomes.push_back({id, 0, born_.back().weights});
        }
        return reply;
    }

    TemporaryDirectory place_;
    Experiment experiment_ = xor_experiment(place_.path());
    std::vector<evolve::Individual> born_;
    ThreadPool threads_{2};
    ReceivedGenomes received_;
};

TEST_F(GenomeAnswersTest, GenomesShareTheirStructureFromReplyToReply) {
    const GenomeReply reply = reply_of(3, experiment_);
    const auto first = received_.read(reply, "rank 1", threads_);
    ASSERT_EQ(first.size(), 3U);
    for (std::size_t i = 0; i < first.size(); ++i) {
        ASSERT_THAT(first[i].problem, IsEmpty());
        EXPECT_EQ(*first[i].genome, born_[i]);
        EXPECT_EQ(first[i].genome->structure, first[0].genome->structure);
    }
    const auto second = received_.read(reply, "rank 2", threads_);
    EXPECT_EQ(second[2].genome->structure, first[0].genome->structure);
}

TEST_F(GenomeAnswersTest, StructuresLiveNoLongerThanTheirGenomes) {
    auto answers = received_.read(reply_of(1, experiment_), "rank 1", threads_);
    const std::weak_ptr<const evolve::Structure> structure = answers[0].genome->structure;
    answers.clear();
    EXPECT_TRUE(structure.expired());
}

TEST_F(GenomeAnswersTest, WhatCannotBeReadIsTold) {
    GenomeReply reply = reply_of(3, experiment_);
    reply.structures.push_back(reply.structures[0]);
    reply.structures[1].resize(reply.structures[1].size() - 1);
    reply.genomes[0].weights.pop_back();
    reply.genomes[1].structure = 1;
    reply.genomes[2].structure = 2;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    reply.genomes.push_back({9, 0, reply.genomes[1].weights});
    reply.genomes.back().weights[0] = nan;
    reply.genomes.push_back({10, 0, reply.genomes[1].weights});
    const auto answers = received_.read(reply, "rank 1", threads_);
    EXPECT_THAT(answers[0].problem, HasSubstr("weights for a structure of"));
    EXPECT_THAT(answers[1].problem, HasSubstr("rank 1"));
    EXPECT_THAT(answers[2].problem, HasSubstr("2 of 2"));
    EXPECT_THAT(answers[3].problem, HasSubstr("not finite"));
    EXPECT_THAT(answers[4].problem, IsEmpty());
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(answers[i].genome, nullptr) << i;
}

TEST_F(GenomeAnswersTest, StructuresReadBackAndDamagedOnesAreRefused) {
    for (const Experiment& experiment : {experiment_, neat_experiment(place_.path())}) {
        born_.clear();
        const std::vector<std::byte> bytes = reply_of(1, experiment).structures[0];
        const evolve::SharedStructure back = evolve::decode_structure(bytes, "rank 1");
        EXPECT_EQ(*back, *born_[0].structure);
        EXPECT_EQ(back->weight_count(), born_[0].structure->weight_count());
        for (std::size_t length = 0; length < bytes.size(); ++length)
            EXPECT_THROW((void)evolve::decode_structure(std::span(bytes).first(length), "rank 1"),
                         InputError);
        // Another count of weights is another network's.
        std::vector<std::byte> other = bytes;
        other[0] ^= std::byte{1};
        EXPECT_THROW((void)evolve::decode_structure(other, "rank 1"), InputError);
        EXPECT_THROW((void)evolve::decode_structure(evolve::encode(born_[0]), "rank 1"),
                     InputError);
    }
}

/// Time that passes where the test says so.
class StandingTime final : public VirtualTime {
  public:
    Clock::time_point now() const override { return now_; }
    void sleep(Clock::duration time) override { now_ += time; }
    Clock::duration worked() override { return {}; }
    Clock::time_point beside(Clock::time_point start, const std::function<void()>& task) override {
        task();
        return start;
    }

  private:
    Clock::time_point now_;
};

/// Rank 0 has twenty genomes of 1.2 MB, which rank 1 has asked for, and not the last one.
class SentGenomesTest : public testing::Test {
  protected:
    static constexpr evolve::BirthId lost = 20;

    SentGenomesTest() {
        evolve::ChildPlan plan;
        evolve::Individual founder;
        evolve::Variation(experiment_.seed, experiment_.variation)
            .materialise({}, std::span<const evolve::Individual* const>{}, plan, founder);
        for (evolve::BirthId origin = 0; origin < lost; ++origin) {
            const auto genome = std::make_shared<evolve::Individual>(founder);
            genome->weights.resize(300'000);
            wanted_.emplace_back(origin, genome);
        }
        wanted_.emplace_back(lost, nullptr);
    }

    /// Rank 1 takes what has arrived.
    void take() {
        while (const auto message = taker_.receive(std::chrono::microseconds{0})) {
            const auto reply = decode_message<GenomeReply>(message->payload, "rank 0");
            for (const NamedGenome& genome : reply.genomes) taken_.push_back(genome.origin);
            gone_.insert(gone_.end(), reply.gone.begin(), reply.gone.end());
        }
    }
    /// Rank 0 looks often, for so many seconds.
    static void look(GenomeAnswers& answers, double seconds) {
        const Clock::time_point end = Clock::now() + duration_of(seconds);
        while (Clock::now() < end) {
            Clock::sleep(std::chrono::milliseconds(50));
            answers.send_more();
        }
    }
    [[nodiscard]] std::size_t sent() const {
        const auto records = network_.records();
        return std::accumulate(
            records.begin(), records.end(), std::size_t{0},
            [](std::size_t bytes, const auto& record) { return bytes + record.bytes; });
    }

    StandingTime time_;
    VirtualTime::Scope standing_{time_};
    Experiment experiment_ = xor_experiment({});
    std::unique_ptr<Backend> backend_ = make_cpu_backend({});
    ShardEvaluator evaluator_{*backend_, experiment_, false};
    RecordedNetwork network_{2};
    Communicator giver_ = network_.communicator(0);
    Communicator taker_ = network_.communicator(1);
    std::vector<NamedIndividual> wanted_;
    std::vector<evolve::BirthId> taken_;
    std::vector<evolve::BirthId> gone_;
};

TEST_F(SentGenomesTest, AreNotFarAheadOfWhoTakesThem) {
    GenomeAnswers answers(giver_, 60.0);
    ComputeThread compute(evaluator_);
    answers.add(1, compute, wanted_);
    const std::size_t ahead = sent();
    EXPECT_GE(ahead, GenomeAnswers::max_unfinished);
    EXPECT_LT(ahead, GenomeAnswers::max_unfinished + 2'000'000);
    answers.send_more();
    EXPECT_EQ(sent(), ahead);
    for (int turn = 0; answers.waiting() && turn < 10; ++turn) {
        take();
        answers.send_more();
    }
    take();
    std::vector<evolve::BirthId> all(lost);
    std::iota(all.begin(), all.end(), evolve::BirthId{0});
    EXPECT_EQ(taken_, all);
    EXPECT_THAT(gone_, testing::ElementsAre(lost));
}

TEST_F(SentGenomesTest, AreLetGoWhereNobodyTakesThemAndAskedForAgain) {
    GenomeAnswers answers(giver_, 2.0);
    ComputeThread compute(evaluator_);
    answers.add(1, compute, wanted_);
    const std::weak_ptr<const evolve::Individual> last = wanted_[lost - 1].second;
    const std::vector<NamedIndividual> later{wanted_[lost - 1]};
    wanted_.clear();
    look(answers, 1.9);
    EXPECT_TRUE(answers.waiting());
    look(answers, 0.2);
    EXPECT_FALSE(answers.waiting());
    EXPECT_EQ(last.use_count(), 1);
    take();
    answers.send_more();
    take();
    EXPECT_EQ(taken_.size() + gone_.size(), lost + 1);
    ASSERT_THAT(gone_, testing::Contains(lost - 1));
    answers.add(1, compute, later);
    take();
    EXPECT_EQ(taken_.back(), lost - 1);
}

TEST_F(SentGenomesTest, ComeFromTheBackendAsTheyAreTaken) {
    evolve::WeightRows rows(*backend_);
    experiment_.variation.founder = wide_founder();
    evolve::ChildPlan plan;
    evolve::Individual founder;
    evolve::Variation(experiment_.seed, experiment_.variation)
        .materialise({}, std::span<const evolve::Individual* const>{}, plan, founder);
    std::vector<std::weak_ptr<evolve::Individual>> there;
    wanted_.clear();
    for (evolve::BirthId origin = 0; origin < lost; ++origin) {
        const auto genome = std::make_shared<evolve::Individual>();
        genome->structure = founder.structure;
        genome->row = rows.take({founder.structure->weight_count()}).front();
        there.emplace_back(genome);
        wanted_.emplace_back(origin, genome);
    }
    GenomeAnswers answers(giver_, 60.0, std::size_t{12'000'000});  // Eight of them.
    ComputeThread compute(evaluator_);
    answers.add(1, compute, wanted_);
    wanted_.clear();
    const auto brought = [&] {
        compute.drain();
        compute.hand_over();
        answers.send_more();
        return std::ranges::count_if(there, [](const auto& one) { return one.expired(); });
    };
    static_cast<void>(brought());
    EXPECT_EQ(brought(), 16) << "the next part, while the last of the first are sent";
    EXPECT_EQ(brought(), 16) << "none more than is sent soon";
    for (int turn = 0; answers.waiting() && turn < 20; ++turn) {
        take();
        static_cast<void>(brought());
    }
    take();
    std::vector<evolve::BirthId> all(lost);
    std::iota(all.begin(), all.end(), evolve::BirthId{0});
    EXPECT_EQ(taken_, all);
}

TEST_F(SentGenomesTest, WaitForARankWhileTheirOwnStoodStill) {
    GenomeAnswers answers(giver_, 2.0);
    ComputeThread compute(evaluator_);
    answers.add(1, compute, wanted_);
    Clock::sleep(std::chrono::seconds(60));
    answers.send_more();
    EXPECT_TRUE(answers.waiting());
}

TEST_F(SentGenomesTest, MayTakeLongerThanALeaseWhereTheyAreLarge) {
    GenomeAnswers answers(giver_, 0.5);
    ComputeThread compute(evaluator_);
    const auto large = std::make_shared<evolve::Individual>(*wanted_[0].second);
    large->weights.resize(5'000'000);
    wanted_[0].second = large;
    answers.add(1, compute, wanted_);
    look(answers, 1.9);
    EXPECT_TRUE(answers.waiting());
    look(answers, 0.5);
    EXPECT_FALSE(answers.waiting());
}

TEST_F(SentGenomesTest, OfACoordinatorGoOnAsTheyAreTaken) {
    experiment_.variation.founder = wide_founder();
    RecordingReporter reporter;
    const std::atomic<int> interrupt{0};
    Ancestry ancestry;
    Scheduler scheduler(giver_, *backend_, experiment_, ancestry, reporter, interrupt,
                        Turn{Reign{1, 0}});
    ancestry.begin(scheduler.follower().newest()->strategy, {});
    send(taker_, 0, GenomeRequest{{0, 1, 2, 3, 4, 5, 6, 7}});
    scheduler.listen();
    take();
    EXPECT_LT(taken_.size(), 8U);
    scheduler.listen();
    take();
    EXPECT_EQ(taken_.size(), 8U);
}

}  // namespace
}  // namespace cambrian::distributed
