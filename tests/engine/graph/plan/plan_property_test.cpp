#include <gtest/gtest.h>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/backend/update_support.hpp"
#include "cambrian/tests/engine/graph/plan/plan_walk.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian {
namespace {

using test::PlanWalk;
using test::RandomGraph;

constexpr std::uint64_t graphs = 10000;
/// One graph of so many is run as well.
constexpr std::uint64_t every = 40;

/// Plans of a graph and of the bodies in it.
void expect_sound(const Graph& graph) {
    const Plan reused = plan(graph);
    const Plan apart = plan_without_reuse(graph);
    for (const Plan* each : {&reused, &apart}) {
        EXPECT_EQ(find_overlap(graph, *each), std::nullopt) << dump(graph);
        EXPECT_TRUE(PlanWalk(graph, *each).every_read_is_intact()) << dump(graph);
    }
    EXPECT_LE(reused.per_individual_elements, apart.per_individual_elements);
    EXPECT_LE(reused.shared_elements, apart.shared_elements);
    for (const Node& node : graph.nodes())
        if (node.op == Op::scan) expect_sound(*std::get<ScanAttribute>(node.attributes).body);
}

/// A graph of 5 to 20 operations, every third one with new contents of its inputs.
RandomGraph random_graph(std::uint64_t seed) {
    RandomGraph random(seed, static_cast<int>(5 + seed % 16));
    if (seed % 3 == 0) test::declare_updates(random.graph);
    return random;
}

Graph all_passes(const Graph& graph) {
    OptimizeOptions options;
    options.has_kernel = [](Op op) { return op == Op::matmul_epilogue || op == Op::fused; };
    options.evaluate = evaluate_node;
    options.fuse_matmul_epilogue = true;
    options.groups = FusionRules{};
    options.max_bytes_per_individual = 64;
    return optimize(graph, options);
}

TEST(PlanProperties, HoldOnTenThousandRandomGraphs) {
    for (std::uint64_t seed = 0; seed < graphs && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        expect_sound(separate_updates(random_graph(seed).graph));
    }
}

TEST(PlanProperties, HoldAfterAllPasses) {
    for (std::uint64_t seed = 0; seed < graphs && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        expect_sound(all_passes(random_graph(seed).graph));
    }
}

// The reference keeps every value for itself; the CPU backend goes by the plan.
TEST(PlanProperties, ValuesAreThoseWithoutReuse) {
    const auto cpu = make_cpu_backend({.math = Math::strict});
    const auto reference = make_reference_backend(Precision::f32);
    for (std::uint64_t seed = 0; seed < graphs && !HasFailure(); seed += every) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const RandomGraph random = random_graph(seed);
        const Graph passed = all_passes(random.graph);
        const auto inputs = random.inputs(3);
        const auto expected = evaluate(*reference, random.graph, 3, inputs);
        for (const Graph* graph : {&random.graph, &passed}) {
            const auto actual = evaluate(*cpu, *graph, 3, inputs);
            for (std::size_t i = 0; i < expected.size(); ++i)
                EXPECT_EQ(test::first_difference(actual[i].elements, expected[i].elements), -1)
                    << "output " << i;
        }
    }
}

}  // namespace
}  // namespace cambrian
