#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/distributed/support/backend_rank.hpp"

// A backend on which weights stay is lost, or has no memory, while children or parents are made
// there.
namespace cambrian::distributed {
namespace {

class BackendFailure : public BackendRank {
  protected:
    using BackendRank::BackendRank;

    void lose_device() {
        backend->before_inheritance = fails_in_call<DeviceError>(1, "the device is lost");
    }
    /// A run has an error that nobody has been told of.
    void leave_error() {
        backend->untold = std::make_exception_ptr(InputError("index 9 is out of range"));
    }
    void lose_device_after_an_error() {
        lose_device();
        backend->before_inheritance = [this, fail = backend->before_inheritance] {
            leave_error();
            fail();
        };
    }
    void run_out_of_memory() {
        backend->before_inheritance = fails_in_call<OutOfMemoryError>(1, "there is no memory");
    }
    /// Refuses what the rows of a generation need. Returns how often it did so far.
    std::function<int()> refuse_rows() {
        const auto refused = std::make_shared<int>(0);
        backend->before_allocation = [refused](std::int64_t elements) {
            constexpr std::int64_t of_few = 10'000;
            if (elements < of_few) return;
            ++*refused;
            throw OutOfMemoryError("there is no memory for rows");
        };
        return [refused] { return *refused; };
    }
    void repair() {
        backend->before_inheritance = nullptr;
        backend->before_allocation = nullptr;
    }

    static void expect_lost(const JobResult& result) {
        ASSERT_TRUE(result.failure);
        EXPECT_EQ(describe(result.failure), "the device is lost");
        EXPECT_TRUE(rank_lost(result.failure));
        EXPECT_TRUE(result.genomes.empty());
        EXPECT_EQ(result.scores.scores.size(), 0U);
    }
    /// Another job, whatever failed before.
    void expect_success(ShardEvaluator& of_rank) {
        Job one = job_of_one();
        const JobResult result = of_rank.work(one);
        EXPECT_FALSE(result.failure) << describe(result.failure);
    }
    /// The births of the newest round, made where a test says, and equal to those of the host.
    void expect_made(Job& of_round, bool on_backend, std::uint64_t splits) {
        const JobResult result = evaluator.work(of_round);
        expect_equal(result, result_of_host());
        EXPECT_EQ(result.cost.memory_splits, splits);
        EXPECT_EQ(result.made_on_backend, on_backend);
        EXPECT_TRUE(std::ranges::all_of(result.genomes, [&](const SharedIndividual& genome) {
            return genome->on_host() != on_backend;
        }));
    }
};

TEST_F(BackendFailure, ADeviceLostWhileParentsAreMadeFailsTheJobsOfTheirRoundAlone) {
    advance_with_all();
    Job of_round_before = job();
    const JobResult expected_before = result_of_host();
    advance_without_three();
    const Remakes lacking = remakes();
    ASSERT_EQ(lacking.recipes.size(), 3U);
    lose_device();
    EXPECT_TRUE(evaluator.remake(round(), lacking).empty());
    Job of_round = job();
    for (int shard = 0; shard < 2; ++shard) {
        expect_lost(evaluator.work(of_round));
        expect_equal(evaluator.work(of_round_before), expected_before);
        Job one = job_of_one();
        EXPECT_FALSE(evaluator.work(one).failure);
    }
    // The next one has parents from elsewhere.
    advance(0);
    const std::size_t members = round()->strategy->parent_pool().size();
    for (std::size_t place = 0; place < members; ++place) {
        follower.fill(*round(), place, parent_of_host(place));
    }
    Job of_next = job();
    expect_made(of_next, true, 0);
}

TEST_F(BackendFailure, ParentsWithoutMemoryAreMadeOnTheHost) {
    advance_with_all();
    advance_without_three();
    const Remakes lacking = remakes();
    run_out_of_memory();
    const std::vector<SharedIndividual> made = evaluator.remake(round(), lacking);
    expect_parents(lacking, made);
    for (const SharedIndividual& parent : made) {
        EXPECT_TRUE(parent && parent->on_host());
    }
    Job of_round = job();
    expect_made(of_round, true, 1);
    expect_made(of_round, true, 0);
}

TEST_F(BackendFailure, ParentsAreMadeOnTheBackendWhereNothingFails) {
    advance_with_all();
    advance_without_three();
    const Remakes lacking = remakes();
    const std::vector<SharedIndividual> made = evaluator.remake(round(), lacking);
    expect_parents(lacking, made);
    for (const SharedIndividual& parent : made) {
        EXPECT_TRUE(parent && !parent->on_host());
    }
    Job of_round = job();
    expect_made(of_round, true, 0);
}

TEST_F(BackendFailure, ADeviceLostWhileChildrenAreMadeFailsTheirJobAlone) {
    advance_with_all();
    lose_device();
    Job of_round = job();
    expect_lost(evaluator.work(of_round));
    expect_made(of_round, true, 0);
}

TEST_F(BackendFailure, NoErrorOfParentsIsLeftForLaterJobs) {
    advance_with_all();
    advance_without_three();
    const Remakes lacking = remakes();
    lose_device_after_an_error();
    EXPECT_TRUE(evaluator.remake(round(), lacking).empty());
    expect_success(evaluator);
}

TEST_F(BackendFailure, NoErrorOfAJobThatFailedIsLeftForLaterJobs) {
    advance_with_all();
    lose_device_after_an_error();
    Job of_round = job();
    expect_lost(evaluator.work(of_round));
    expect_success(evaluator);
}

TEST_F(BackendFailure, NoErrorOfWhatAFallbackDoesIsLeftForLaterJobs) {
    advance_with_all();
    experiment.distribution.fallback = [] { return make_cpu_backend({.math = Math::strict}); };
    ShardEvaluator with_fallback(*backend, experiment, true);
    backend->before_allocation = [this](std::int64_t) {
        leave_error();
        throw OutOfMemoryError("there is no memory");
    };
    Job one = job_of_one();
    const JobResult result = with_fallback.work(one);
    ASSERT_FALSE(result.failure) << describe(result.failure);
    EXPECT_EQ(result.cost.fallbacks, 1U);
    repair();
    expect_success(with_fallback);
}

TEST_F(BackendFailure, ChildrenWithoutMemoryAreMadeOnTheHost) {
    advance_with_all();
    Job of_round = job();
    const auto refusals = refuse_rows();
    expect_made(of_round, false, 1);
    EXPECT_GT(refusals(), 0);
    repair();
    run_out_of_memory();
    expect_made(of_round, false, 1);
    expect_made(of_round, true, 0);
}

TEST_F(BackendFailure, WhatNobodyNeedsGivesItsRowsToChildren) {
    advance_with_all();
    Job of_round = job();
    of_round.retired = std::exchange(retired, nullptr);
    const std::weak_ptr<const void> unneeded = of_round.retired;
    const auto refusals = refuse_rows();
    expect_made(of_round, true, 0);
    EXPECT_GT(refusals(), 0);
    EXPECT_TRUE(unneeded.expired());
}

TEST_F(BackendFailure, ChildrenAreMadeOnTheHostWhereWhatNobodyNeedsIsTooLittle) {
    advance_with_all();
    Job of_round = job();
    const auto small = std::make_shared<int>(0);
    of_round.retired = small;
    const auto refusals = refuse_rows();
    expect_made(of_round, false, 1);
    EXPECT_GT(refusals(), 0);
    EXPECT_EQ(small.use_count(), 1);
}

// Jobs may be of any open round: what one frees is not what those of another will read.
class BackendFailureInTheSteadyState : public BackendFailure {
  protected:
    BackendFailureInTheSteadyState() : BackendFailure({.window = 12, .block = 6}) {
        for (int block = 0; block < 5; ++block) {
            advance_with_all();
        }
        advance_without_three();
    }
    /// A job of the older one of two rounds: its children find room, but no evaluation does that
    /// reads weights on the backend, not even of one network.
    void work_on_older_round_without_memory() {
        ASSERT_EQ(follower.open(), 2U);
        const SharedRound older = follower.round();
        Job of_older{2, {evolve::Phase::train, older->generation()}, older, {0, 6}, nullptr, {}};
        of_older.parents = follower.lend_parents(*older);
        backend->before_inheritance = [calls = 0]() mutable {
            if (++calls > 1) throw OutOfMemoryError("there is no memory for weights");
        };
        const JobResult result = evaluator.work(of_older);
        repair();
        ASSERT_FALSE(result.failure) << describe(result.failure);
        EXPECT_TRUE(result.genomes.front()->on_host());
    }
};

TEST_F(BackendFailureInTheSteadyState, MemoryForOneOpenRoundIsNotThatOfParentsOfAnother) {
    const Remakes lacking = remakes();
    ASSERT_EQ(evaluator.remake(round(), lacking).size(), lacking.recipes.size());
    Job of_round = job();
    work_on_older_round_without_memory();
    expect_made(of_round, true, 0);
}

TEST_F(BackendFailureInTheSteadyState, AShortageInOneOpenRoundHidesNoLossInAnother) {
    lose_device();
    EXPECT_TRUE(evaluator.remake(round(), remakes()).empty());
    Job of_round = job();
    work_on_older_round_without_memory();
    expect_lost(evaluator.work(of_round));
}

TEST(RankLost, IsOneWhoseTaskCannotBeTrusted) {
    EXPECT_TRUE(rank_lost(std::make_exception_ptr(evolve::UntrustedTask("it lied"))));
    EXPECT_FALSE(rank_lost(std::make_exception_ptr(ConfigError("it failed"))));
}

}  // namespace
}  // namespace cambrian::distributed
