#include <gtest/gtest.h>

#include <array>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"

namespace cambrian {
namespace {

TEST(AliasChain, MiddleLinkWritesNothing) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, Shape{3});
    const Var code = graph.input("code", ValueType::integer, Shape{2});
    const Var sum = x + 1.0;
    // Slice and reshape are both views of the input; only the last one is read.
    const Var chosen = reshape(slice(code, 0, 1, 1), Shape{});
    graph.output(activate(sum, chosen));
    constexpr std::array<std::size_t, 2> per_individual{0, 1};
    const auto backend = make_cpu_backend({});
    const auto outputs =
        evaluate(*backend, vmap(graph, per_individual), 1,
                 std::vector<Tensor>{Tensor(ValueType::real, Shape{1, 3}, {1, 2, 3}),
                                     Tensor(ValueType::integer, Shape{1, 2}, {5, 0})});
    EXPECT_EQ(outputs[0].elements, (std::vector<double>{2, 3, 4}));
}

}  // namespace
}  // namespace cambrian
