#include "cambrian/distributed/worker/remaking_budget.hpp"

#include <gtest/gtest.h>

#include <cstddef>

// How many parents a rank makes once more.
namespace cambrian::distributed {
namespace {

/// After a shard of ten births that took 1 s to make and 10 s to judge.
std::size_t remakes_after(bool made_on_backend) {
    RemakingBudget budget(WorkerLimits{.remaking_share = 0.25});
    JobResult result;
    result.genomes.resize(10);
    result.made_on_backend = made_on_backend;
    result.cost.vary = 1.0;
    result.cost.evaluate = 10.0;
    budget.note(result);
    return budget.remakes(100);
}

TEST(RemakingBudget, IsLargerWhereMostChildrenLieOnTheBackendWhereverTheFirstOneLies) {
    EXPECT_EQ(remakes_after(false), 250U);
    EXPECT_EQ(remakes_after(true), 1250U);
}

}  // namespace
}  // namespace cambrian::distributed
