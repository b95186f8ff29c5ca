#include "cambrian/distributed/worker/genome_answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// Genomes from another rank: structures once each, whatever else is told refused.
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

}  // namespace
}  // namespace cambrian::distributed
