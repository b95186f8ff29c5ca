#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "cambrian/distributed/generation/follower.hpp"
#include "cambrian/distributed/worker/shard_evaluator.hpp"
#include "cambrian/tests/distributed/support/inheriting_backend.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {

/// Networks whose weights lie on a backend that inherits, all of one structure.
[[nodiscard]] Experiment large_networks(const std::filesystem::path& directory);

/// Rank 0 of two, whose weights lie on its backend, and beside it a rank alone that makes and
/// evaluates all births on the host. The youngest are the fittest.
class BackendRank : public testing::Test {
  protected:
    explicit BackendRank(const evolve::SteadyStateSettings& steady_state = {});

    /// The record of the oldest round, whose births rank 0 evaluated up to `own`, and the other
    /// rank from there on.
    /// @param unfit so many of the youngest births have no chance.
    [[nodiscard]] Record record(std::size_t own, std::size_t unfit = 0) const;
    /// Makes the births of the oldest round, here up to `own`, and goes on to the next one.
    void advance(std::size_t own);
    /// The same for a generation of which all births are made here, or all but those that become
    /// three of the parents of the next.
    void advance_with_all() { advance(round()->order.size()); }
    void advance_without_three() { advance(round()->order.size() - 3); }
    /// How the parents that the newest round lacks here are made once more.
    [[nodiscard]] Remakes remakes();

    [[nodiscard]] SharedRound round() const { return follower.newest(); }
    /// All births of the newest round, with the parents that are here.
    [[nodiscard]] Job job();
    /// What the host makes of them.
    [[nodiscard]] JobResult result_of_host();
    /// A network alone, which is of no round.
    [[nodiscard]] Job job_of_one() const;
    /// Parent of the newest round, made on the host.
    [[nodiscard]] SharedIndividual parent_of_host(std::size_t place) const {
        return (*host.parents(*host.newest()))[place];
    }
    /// Bit for bit, wherever the weights lie.
    void expect_equal(const SharedIndividual& found, const SharedIndividual& expected) const;
    void expect_equal(const JobResult& found, const JobResult& expected) const;
    void expect_parents(const Remakes& remakes, const std::vector<SharedIndividual>& made) const;

    TemporaryDirectory directory;
    Experiment experiment;
    std::unique_ptr<InheritingBackend> backend = make_inheriting_backend(2);
    std::unique_ptr<Backend> cpu;
    ShardEvaluator evaluator;
    ShardEvaluator host_evaluator;
    Follower follower;
    Follower host;
    std::shared_ptr<const void> retired;  ///< Here, since the last round.
};

}  // namespace cambrian::distributed
