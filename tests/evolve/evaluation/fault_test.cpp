#include <gtest/gtest.h>

#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"
#include "cambrian/tests/support/fault_support.hpp"

namespace cambrian::evolve {
namespace {

TEST(EvaluatorFaults, NoAllocationThatFailsHurtsAShard) {
    const auto task = testing::standard_task(
        R"({"type": "cart_pole", "episodes": 2, "steps": 20, "validation": {"episodes": 2}})");
    std::vector<Genome> genomes;
    for (std::size_t i = 0; i < 12; ++i)
        genomes.push_back(testing::genome_for(
            *task,
            i % 2 == 0 ? R"({"layers": [{"type": "dense"}]})"
                       : R"({"layers": [{"type": "dense", "out": 5}, {"type": "dense"}]})",
            i));
    const std::vector<const Genome*> shard = testing::pointers_to(genomes);
    for (const Family family : {Family::graph, Family::interpreted}) {
        const auto evaluate = [&](Backend& backend) {
            Evaluator evaluator(backend, *task, 1, family);
            std::vector<float> fitness;
            for (const Evaluation& result : evaluator.evaluate(shard, {}))
                fitness.push_back(static_cast<float>(result.fitness));
            return fitness;
        };
        test::CpuRefusal refusal;
        const auto make = [&] { return refusal.backend(2); };
        EXPECT_GT(test::expect_no_fault_hurts(make, refusal.faults(), evaluate, "a shard"), 5);
    }
}

}  // namespace
}  // namespace cambrian::evolve
