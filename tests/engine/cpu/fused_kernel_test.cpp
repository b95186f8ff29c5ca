#include <gtest/gtest.h>

#include <algorithm>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

// The CPU's kernel for fusion groups against the reference backend, which computes node by node.
namespace cambrian {
namespace {

using test::first_difference;

constexpr FusionRules everything{.reductions = true, .max_operands = 12};

/// Rows that are broadcast to, gated, reduced and broadcast again at random.
class RandomRows {
  public:
    RandomRows(std::uint64_t seed, const Shape& shape)
        : rng_(random_key(seed, "random rows"), 0), shape_(shape) {
        for (int i = 0; i < 5; ++i) values_.push_back(input(i == 0));
        values_.push_back(constant(graph, 0.75));
        code_ = graph.input("code", ValueType::integer, {}, rng_.chance(0.5F));
        Var value = values_[0];
        for (int i = 0; i < 14; ++i) {
            value = next(value);
            if (rng_.chance(0.4F)) values_.push_back(value);
        }
        graph.output(value);
    }

    Graph graph;

    [[nodiscard]] std::vector<Tensor> inputs(std::int64_t population) const {
        std::vector<Tensor> tensors;
        for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
            const ValueInfo& info = graph.value(graph.inputs()[i]);
            std::vector<std::int64_t> extents(info.shape.extents().begin(),
                                              info.shape.extents().end());
            if (info.per_individual) extents.insert(extents.begin(), population);
            Tensor tensor(info.type, Shape(std::span<const std::int64_t>(extents)));
            RandomStream stream(random_key(i, "inputs"), 0);
            for (double& element : tensor.elements)
                element = info.type == ValueType::real ? static_cast<double>(stream.normal())
                                                       : static_cast<double>(stream.index(7));
            tensors.push_back(std::move(tensor));
        }
        return tensors;
    }

  private:
    Var input(bool whole) {
        std::vector<std::int64_t> extents(shape_.extents().begin(), shape_.extents().end());
        if (!whole) {
            for (std::int64_t& extent : extents)
                if (rng_.chance(0.4F)) extent = 1;
            const auto dropped = static_cast<std::ptrdiff_t>(
                rng_.index(static_cast<std::uint32_t>(extents.size()) + 1));
            if (rng_.chance(0.5F)) extents.erase(extents.begin(), extents.begin() + dropped);
        }
        return graph.input("x", ValueType::real, Shape(std::span<const std::int64_t>(extents)),
                           whole || rng_.chance(0.5F));
    }

    Var other() { return values_[rng_.index(static_cast<std::uint32_t>(values_.size()))]; }

    Var next(Var x) {
        const bool rows = x.rank() > 0 && x.shape()[-1] == shape_[-1];
        switch (rng_.index(12)) {
            case 0:
                return x * sigmoid(x);
            case 1:
                return exp(-abs(x));
            case 2:
                return rsqrt(x * x + 1.0);
            case 3:
                return select(less(x, other()), x, other());
            case 4:
                return cast(cast(x * 3.0, ValueType::integer), ValueType::real) - x;
            case 5:
                return activate(x, code_) * other();
            case 6:
                return rows ? x - reduce_max(x, -1, true) : tanh(x);
            case 7:
            case 8:
                return rows ? x * reciprocal(reduce_sum(x, -1, true)) : x / other();
            case 9:
                return broadcast(x, shape_) * other();
            case 10:
                return rows ? reduce_sum(square(x), -1, true) + other() : max(x, other());
            default:
                return x + other();
        }
    }

    RandomStream rng_;
    Shape shape_;
    std::vector<Var> values_;
    Var code_;
};

std::size_t groups(const Graph& graph) {
    return static_cast<std::size_t>(std::ranges::count(graph.nodes(), Op::fused, &Node::op));
}

/// Compares fused and plain graph on the CPU backend with the plain graph on the reference.
/// Returns the number of fusion groups.
std::size_t expect_same_bits(Backend& cpu, Backend& reference, const RandomRows& random,
                             std::int64_t population) {
    const Graph fused = fuse_elementwise(random.graph, everything);
    const std::vector<Tensor> inputs = random.inputs(population);
    const auto expected = evaluate(reference, random.graph, population, inputs);
    for (const Graph* graph : {&fused, &random.graph}) {
        const auto actual = evaluate(cpu, *graph, population, inputs);
        EXPECT_EQ(actual.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_EQ(first_difference(actual[i].elements, expected[i].elements), -1)
                << dump(fused);
    }
    return groups(fused);
}

const std::vector<Shape>& odd_shapes() {
    static const std::vector<Shape> shapes{{1},
                                           {3},
                                           {17},
                                           {65},
                                           {257},
                                           {3, 1},
                                           {1, 3},
                                           {9, 17},
                                           {65, 3},
                                           {17, 257},
                                           {257, 65},
                                           {3, 65, 5},
                                           {2, 9, 1},
                                           {5, 2, 257},
                                           {1, 1, 3, 2, 1, 17},
                                           {2, 3, 1, 2, 3, 5},
                                           {3, 1300},
                                           {20, 1040}};
    return shapes;
}

TEST(FusedKernel, EqualsTheReferenceBitForBit) {
    const auto reference = make_reference_backend(Precision::f32);
    for (const Math math : {Math::strict, Math::fast}) {
        const auto cpu = make_cpu_backend({.math = math});
        std::size_t found = 0;
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
            for (const Shape& shape : odd_shapes()) {
                SCOPED_TRACE("seed " + std::to_string(seed) + " shape " + shape.text());
                const RandomRows random(seed, shape);
                for (const std::int64_t population : {1, 5})
                    found += expect_same_bits(*cpu, *reference, random, population);
                if (HasFailure()) return;
            }
        }
        EXPECT_GT(found, 200U);
    }
}

TEST(FusedKernel, GivesTheSameBitsOnAnyNumberOfThreads) {
    const auto one = make_cpu_backend({});
    for (const int threads : {2, 4}) {
        const auto many = make_cpu_backend({.threads = threads});
        for (std::uint64_t seed = 0; seed < 6; ++seed) {
            for (const Shape& shape : {Shape{400, 257}, Shape{100000}, Shape{3, 100, 300}}) {
                const RandomRows random(seed, shape);
                const Graph fused = fuse_elementwise(random.graph, everything);
                const auto inputs = random.inputs(1);
                const auto expected = evaluate(*one, fused, 1, inputs);
                const auto actual = evaluate(*many, fused, 1, inputs);
                EXPECT_EQ(first_difference(actual[0].elements, expected[0].elements), -1)
                    << dump(fused);
            }
        }
    }
}

TEST(FusedKernel, TakesRowsWithoutElements) {
    const auto cpu = make_cpu_backend({});
    for (const Shape& shape : {Shape{0, 5}, Shape{0}, Shape{3, 0}}) {
        Graph graph;
        const Var x = graph.input("x", ValueType::real, shape, true);
        graph.output(tanh(x * 2.0) + 1.0);
        const Graph fused = fuse_elementwise(graph, everything);
        ASSERT_EQ(groups(fused), 1U);
        const std::vector<std::int64_t> extents = [&] {
            std::vector<std::int64_t> all{2};
            all.insert(all.end(), shape.extents().begin(), shape.extents().end());
            return all;
        }();
        const std::vector<Tensor> inputs{
            Tensor(ValueType::real, Shape(std::span<const std::int64_t>(extents)))};
        EXPECT_TRUE(evaluate(*cpu, fused, 2, inputs)[0].elements.empty());
    }
}

/// Steps of one op on values that threads share, and odd ones out at their ends.
TEST(LargeSteps, GiveTheSameBitsOnAnyNumberOfThreads) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3, 301, 257});
    const Var y = graph.input("y", ValueType::real, {301, 1});
    const Var wide = graph.input("wide", ValueType::real, {5, 70001});
    graph.output(x * x);
    graph.output(x + y);
    graph.output(permute(x, {2, 0, 1}));
    graph.output(pad(x, 1, 2, 3));
    graph.output(concat(std::vector<Var>{x, x}, 2));
    for (const Var value : {x, wide}) {
        for (int axis = 0; axis < value.rank(); ++axis) {
            graph.output(reduce_sum(value, axis, false));
            graph.output(reduce_max(value, axis, true));
            graph.output(argmax(value, axis));
        }
    }
    std::vector<Tensor> inputs;
    for (const Var input : {x, y, wide}) {
        inputs.emplace_back(ValueType::real, input.shape());
        RandomStream stream(random_key(inputs.size(), "inputs"), 0);
        for (double& element : inputs.back().elements)
            element = static_cast<double>(stream.normal());
    }
    const auto reference = make_reference_backend(Precision::f32);
    const auto expected = evaluate(*reference, graph, 1, inputs);
    for (const int threads : {1, 2, 4}) {
        const auto cpu = make_cpu_backend({.threads = threads});
        const auto actual = evaluate(*cpu, graph, 1, inputs);
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_EQ(first_difference(actual[i].elements, expected[i].elements), -1)
                << "output " << i << " on " << threads << " threads";
    }
}

/// The backend's own fusion, seen by what it needs: no room for what lies between.
TEST(FusedKernel, KeepsNoIntermediateValueOfLargeRows) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {512, 512});
    graph.output(softmax(x * 0.5, -1));
    const auto cpu = make_cpu_backend({});
    EXPECT_LT(cpu->compile(graph)->peak_bytes(1), 512 * 512 * 4);
}

}  // namespace
}  // namespace cambrian
