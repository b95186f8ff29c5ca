#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"

// Scans whose bodies run transposed: the individuals of a block side by side, element by element.
namespace cambrian {
namespace {

constexpr std::int64_t length = 4;

/// What a body computes of its carry, a step of its sequence, its weights and its code.
struct Body {
    Graph graph;
    Var carry;
    Var count;
    Var step;
    Var weights;
    Var code;

    explicit Body(std::int64_t width)
        : carry(graph.input("carry", ValueType::real, {2, width})),
          count(graph.input("count", ValueType::integer, {3})),
          step(graph.input("step", ValueType::real, {2, 3})),
          weights(graph.input("weights", ValueType::real, {width * (width + 3)})),
          code(graph.input("code", ValueType::integer, {})) {}
};

/// Products of both kinds, sums, maxima, activations, integers and all that only moves elements.
/// @param beside whether a value is stacked too that no transposed body can compute.
Body body_of_all_ops(std::int64_t width, bool beside) {
    Body body(width);
    const Var wide = reshape(slice(body.weights, 0, 0, width * width), {width, width});
    const Var narrow = reshape(slice(body.weights, 0, width * width, 3 * width), {3, width});
    const Var mixed = matmul(body.carry, wide, false, true) + matmul(body.step, narrow);
    const Var active = activate(mixed, body.code);
    const Var turned = permute(flip(active, 1), {1, 0});
    const Var sums = reduce_sum(turned, 0, true);
    const Var largest = reduce_max(turned, 1, false);
    const Var next = matmul(turned, wide, true, false) * 0.25 + reshape(largest, {1, width}) +
                     reduce_sum(sums, 1, true);
    const Var rounded = cast(round(slice(next, 1, 0, 1) * 3.0), ValueType::integer);
    const Var counted =
        body.count * 5 + concat(std::array{reshape(rounded, {2}), slice(body.count, 0, 2, 1)}, 0);
    body.graph.output(tanh(next));
    body.graph.output(counted);
    body.graph.output(turned);
    body.graph.output(select(less(next, 0.1), next, sin(next)));
    body.graph.output(body.step);
    if (beside) body.graph.output(cumsum(body.carry, 1));
    return body;
}

Graph scanned(std::int64_t width, bool reverse, bool beside, bool own_steps) {
    Body body = body_of_all_ops(width, beside);
    Graph single;
    const Var carry = single.input("carry", ValueType::real, {2, width});
    const Var count = single.input("count", ValueType::integer, {3});
    const Var steps = single.input("steps", ValueType::real, {length, 2, 3});
    const Var weights = single.input("weights", ValueType::real, {width * (width + 3)});
    const Var code = single.input("code", ValueType::integer, {});
    const ScanResult result =
        scan(std::move(body.graph), std::array{carry, count}, std::array{steps},
             std::array{weights, code}, {.length = length, .reverse = reverse});
    for (const Var value : result.carries) single.output(value);
    for (std::size_t i = 0; i < 3; ++i) single.output(result.stacked[i]);
    if (beside) single.output(result.stacked[3]);
    const std::vector<std::size_t> own =
        own_steps ? std::vector<std::size_t>{0, 1, 2, 3, 4} : std::vector<std::size_t>{0, 1, 3, 4};
    return vmap(single, own);
}

std::vector<Tensor> inputs_of(const Graph& graph, std::int64_t population) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const ValueInfo& info = graph.value(graph.inputs()[i]);
        std::vector<std::int64_t> extents(info.shape.extents().begin(), info.shape.extents().end());
        if (info.per_individual) extents.insert(extents.begin(), population);
        Tensor tensor(info.type, Shape(std::span<const std::int64_t>(extents)));
        RandomStream rng(random_key(3, "transposed scan"), i);
        for (double& x : tensor.elements)
            x = info.type == ValueType::real ? static_cast<double>(rng.normal() * 0.4F)
                                             : static_cast<double>(rng.index(7));
        inputs.push_back(std::move(tensor));
    }
    return inputs;
}

void expect_equal(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                  std::size_t outputs) {
    for (std::size_t o = 0; o < outputs; ++o)
        EXPECT_EQ(actual[o].elements, expected[o].elements) << "output " << o;
}

class TransposedScan : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(TransposedScan, HasTheBitsOfTheReferenceUnderStrictMath) {
    const auto reference = make_reference_backend(Precision::f32);
    const auto backend = make_cpu_backend({.threads = 2, .math = Math::strict, .poison = true});
    for (const bool reverse : {false, true}) {
        for (const bool own_steps : {false, true}) {
            const Graph graph = scanned(5, reverse, false, own_steps);
            const std::vector<Tensor> inputs = inputs_of(graph, GetParam());
            expect_equal(evaluate(*backend, graph, GetParam(), inputs),
                         evaluate(*reference, graph, GetParam(), inputs), 5);
        }
    }
}

TEST_P(TransposedScan, HasTheBitsOfOneIndividualAfterAnotherUnderFastMath) {
    for (const std::int64_t width : {1, 9, 24}) {
        const auto backend = make_cpu_backend({.threads = 2, .poison = true});
        const Graph transposed = scanned(width, false, false, true);
        const Graph plain = scanned(width, false, true, true);
        const std::vector<Tensor> inputs = inputs_of(transposed, GetParam());
        expect_equal(evaluate(*backend, transposed, GetParam(), inputs),
                     evaluate(*backend, plain, GetParam(), inputs), 5);
    }
}

// Few individuals of small values, one vector and its neighbours, a block and its neighbours,
// several groups of a wide body.
INSTANTIATE_TEST_SUITE_P(Populations, TransposedScan,
                         ::testing::Values(1, 3, 7, 8, 9, 255, 256, 300));

/// What individuals share meets what they have for themselves.
/// @param alone whether an op sees nothing else, which no transposed body can compute.
Graph scanned_with_shared_steps(bool alone) {
    Graph body;
    const Var carry = body.input("carry", ValueType::real, {3});
    const Var step = body.input("step", ValueType::real, {3});
    const Var matrix = body.input("matrix", ValueType::real, {3, 3});
    const Var code = body.input("code", ValueType::integer, {});
    const Var both = concat(std::array{carry, step}, 0);
    const Var carry_twice = concat(std::array{carry, carry}, 0);
    const Var product = reshape(matmul(reshape(carry, {1, 3}), matrix), {3});
    const Var folded =
        alone ? reduce_sum(both, 0) - reduce_max(both, 0) : reduce_sum(both * carry_twice, 0);
    body.output(tanh(product * step + folded));
    body.output(activate(carry + step, code));
    body.output(activate(alone ? step : carry, code));
    Graph single;
    const Var start = single.input("start", ValueType::real, {3});
    const Var steps = single.input("steps", ValueType::real, {length, 3});
    const Var weights = single.input("matrix", ValueType::real, {3, 3});
    const Var own_code = single.input("code", ValueType::integer, {});
    const ScanResult result = scan(std::move(body), std::array{start}, std::array{steps},
                                   std::array{weights, own_code}, {.length = length});
    single.output(result.carries[0]);
    for (const Var value : result.stacked) single.output(value);
    return vmap(single, std::vector<std::size_t>{0, 3});
}

TEST_P(TransposedScan, ReadsWhatIndividualsShare) {
    const auto reference = make_reference_backend(Precision::f32);
    const auto backend = make_cpu_backend({.math = Math::strict, .poison = true});
    for (const bool alone : {false, true}) {
        const Graph graph = scanned_with_shared_steps(alone);
        const std::vector<Tensor> inputs = inputs_of(graph, GetParam());
        expect_equal(evaluate(*backend, graph, GetParam(), inputs),
                     evaluate(*reference, graph, GetParam(), inputs), 3);
    }
}

/// Individuals come to their ends one after another, each after as many steps as its number says.
TEST_P(TransposedScan, GoesOnWithThoseThatAreLeft) {
    Graph body;
    const Var sum = body.input("sum", ValueType::real, {2});
    const Var left = body.input("left", ValueType::integer, {});
    const Var alive = body.input("alive", ValueType::boolean, {});
    const Var scale = body.input("scale", ValueType::real, {2});
    const Var rest = left - 1;
    body.output(select(alive, sin(sum * scale) + sum, sum));
    body.output(select(alive, rest, left));
    body.output(logical_and(alive, logical_not(less(rest, 1))));
    Graph single;
    const Var start = single.input("start", ValueType::real, {2});
    const Var steps = single.input("steps", ValueType::integer, {});
    const Var factor = single.input("scale", ValueType::real, {2});
    const ScanResult result =
        scan(std::move(body), std::array{start, steps, logical_not(less(steps, 1))}, {},
             std::array{factor}, {.length = 40, .alive_carry = 2});
    for (const Var carry : result.carries) single.output(carry);
    const Graph graph = vmap(single, std::vector<std::size_t>{0, 1, 2});
    std::vector<Tensor> inputs = inputs_of(graph, GetParam());
    for (std::size_t i = 0; i < inputs[1].elements.size(); ++i)
        inputs[1].elements[i] = static_cast<double>(i * 7 % 32);
    const auto reference = make_reference_backend(Precision::f32);
    const auto backend = make_cpu_backend({.math = Math::strict, .poison = true});
    expect_equal(evaluate(*backend, graph, GetParam(), inputs),
                 evaluate(*reference, graph, GetParam(), inputs), 3);
}

TEST(TransposedScan, CompilesRotationsOfRotations) {
    Graph body;
    const Var carry = body.input("carry", ValueType::real, {4});
    Var turned = carry * 0.5;
    for (int i = 0; i < 60; ++i)
        turned = concat(std::array{slice(turned, 0, 1, 3), slice(turned, 0, 0, 1)}, 0);
    body.output(turned);
    Graph single;
    const Var start = single.input("start", ValueType::real, {4});
    single.output(scan(std::move(body), std::array{start}, {}, {}, {.length = 1}).carries[0]);
    const Graph graph = vmap(single, std::vector<std::size_t>{0});
    const std::vector<Tensor> inputs = inputs_of(graph, 9);
    std::vector<double> halves = inputs[0].elements;
    for (double& x : halves) x *= 0.5;
    EXPECT_EQ(evaluate(*make_cpu_backend({}), graph, 9, inputs)[0].elements, halves);
}

TEST(TransposedScan, RunsOnlyWhatItHasStepsFor) {
    const auto backend = make_cpu_backend({.profile = true});
    const auto kernels = [&](bool beside) {
        const Graph graph = scanned(5, false, beside, true);
        static_cast<void>(evaluate(*backend, graph, 20, inputs_of(graph, 20)));
        std::int64_t copies = 0;
        for (const KernelTime& time : backend->take_profile())
            if (time.kernel.starts_with("slice") || time.kernel.starts_with("concat"))
                copies += time.dispatches;
        return copies;
    };
    EXPECT_EQ(kernels(false), 0) << "movement costs nothing";
    EXPECT_GT(kernels(true), 0) << "a body with cumsum runs one individual after another";
}

}  // namespace
}  // namespace cambrian
