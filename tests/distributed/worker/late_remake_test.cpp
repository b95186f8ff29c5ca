#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cambrian/distributed/worker/compute_thread.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/distributed/support/backend_rank.hpp"

// The rank goes elsewhere while its backend makes parents once more. That nothing of it is left
// over is what the pool of genomes and the rows expect at their end.
namespace cambrian::distributed {
namespace {

class LateRemake : public BackendRank {
  protected:
    void TearDown() override {
        if (!go.try_wait()) go.count_down();
    }
    /// A backend that has begun to make parents, and a job that waits for them.
    void begin() {
        Remakes lacking = remakes();
        backend->before_inheritance = [this, first = true]() mutable {
            if (!std::exchange(first, false)) return;
            begun.count_down();
            go.wait();
            if (lost) throw DeviceError("the device is lost");
        };
        compute.emplace(evaluator);
        compute->remake(follower, round(), std::move(lacking));
        compute->submit(job());
        begun.wait();
    }
    JobResult finish() {
        go.count_down();
        compute->drain();
        auto result = compute->take();
        EXPECT_TRUE(result);
        compute->hand_over();
        EXPECT_FALSE(compute->changes());
        EXPECT_EQ(compute->in_flight(), 0U);
        return result ? *std::move(result) : JobResult{};
    }
    PoolGenomes parents() const { return *follower.parents(*round()); }

    std::latch begun{1};
    std::latch go{1};
    bool lost = false;
    std::optional<ComputeThread> compute;
};

TEST_F(LateRemake, FillsItsRound) {
    advance_with_all();
    advance_without_three();
    begin();
    expect_equal(finish(), result_of_host());
    const PoolGenomes here = parents();
    for (std::size_t place = 0; place < here.size(); ++place) {
        expect_equal(here[place], parent_of_host(place));
    }
}

TEST_F(LateRemake, ChangesNothingOfTheNextRound) {
    advance_with_all();
    advance_without_three();
    const JobResult expected = result_of_host();
    begin();
    advance(0);
    const PoolGenomes here = parents();
    expect_equal(finish(), expected);
    EXPECT_EQ(parents(), here);
}

TEST_F(LateRemake, ChangesNothingOfAnotherStateOfItsGeneration) {
    advance_with_all();
    const SharedStrategy before = host.newest()->strategy;
    const evolve::Decision decision = record(0, 12).decision;
    advance_without_three();
    const JobResult expected = result_of_host();
    begin();
    const SharedStrategy other = before->apply(decision);
    EXPECT_EQ(other->generation(), round()->generation());
    retired =
        follower.load(other->save(), std::vector<std::uint32_t>(other->parent_pool().size(), 1));
    const PoolGenomes here = parents();
    EXPECT_EQ(here, PoolGenomes(here.size())) << "what is here cannot be filled";
    expect_equal(finish(), expected);
    EXPECT_EQ(parents(), here);
}

TEST_F(LateRemake, IsAskedForElsewhereAfterAJumpToTheSameState) {
    advance_with_all();
    advance_without_three();
    const JobResult expected = result_of_host();
    begin();
    retired = follower.load(round()->strategy->save(), follower.holders(),
                            std::span(&round()->digest, 1));
    const PoolGenomes here = parents();
    const auto missing = [this] {
        return follower.missing_parents(*round(), {0, round()->order.size()}, 1000).places.size();
    };
    EXPECT_EQ(missing(), 3U);
    expect_equal(finish(), expected);
    EXPECT_EQ(parents(), here);
    EXPECT_EQ(missing(), 3U);
}

TEST_F(LateRemake, FailsItsJobAndNotItsOwnerWhereTheDeviceIsLost) {
    advance_with_all();
    advance_without_three();
    lost = true;
    begin();
    const PoolGenomes here = parents();
    const JobResult result = finish();
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(describe(result.failure), "the device is lost");
    EXPECT_TRUE(rank_lost(result.failure));
    EXPECT_EQ(result.remade, 0U);
    EXPECT_EQ(parents(), here);
}

TEST_F(LateRemake, OfALostDeviceChangesNothingOfTheNextRound) {
    advance_with_all();
    advance_without_three();
    lost = true;
    begin();
    advance(0);
    const PoolGenomes here = parents();
    EXPECT_TRUE(finish().failure);
    EXPECT_EQ(parents(), here);
}

TEST_F(LateRemake, IsNothingToTheNextOwner) {
    advance_with_all();
    advance_without_three();
    begin();
    const PoolGenomes here = parents();
    compute->change_owner();
    EXPECT_TRUE(compute->occupied());
    EXPECT_EQ(compute->in_flight(), 0U);
    compute->hand_over();
    EXPECT_TRUE(compute->occupied());
    go.count_down();
    compute->drain();
    compute->hand_over();
    EXPECT_FALSE(compute->occupied());
    EXPECT_FALSE(compute->changes());
    EXPECT_FALSE(compute->take());
    EXPECT_EQ(parents(), here);
}

TEST_F(LateRemake, CountsForNoJobOfTheNextOwner) {
    advance_with_all();
    advance_without_three();
    begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Clock::time_point changed = Clock::now();
    compute->change_owner();
    compute->submit(job());
    go.count_down();
    compute->drain();
    compute->hand_over();
    const auto result = compute->take();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->remade, 0U);
    EXPECT_EQ(result->remaking, 0.0);
    EXPECT_LT(result->cost.wait, seconds_since(changed));
}

TEST_F(LateRemake, EndsWithItsThread) {
    advance_with_all();
    advance_without_three();
    begin();
    const std::weak_ptr<const Round> of_parents = round();
    advance(0);
    advance(0);
    retired = nullptr;
    // Where it is quick, the job is done before the thread is told to end.
    std::thread slow_device([this] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        go.count_down();
    });
    EXPECT_FALSE(of_parents.expired());
    compute.reset();
    EXPECT_TRUE(of_parents.expired()) << "something still holds it";
    slow_device.join();
}

}  // namespace
}  // namespace cambrian::distributed
