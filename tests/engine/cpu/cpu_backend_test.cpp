#include "cambrian/engine/cpu/cpu_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/simd/float_guard.hpp"
#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian {
namespace {

using test::first_difference;
using test::RandomGraph;

std::unique_ptr<Backend> strict_backend(int threads = 1) {
    return make_cpu_backend({.threads = threads, .math = Math::strict});
}

void expect_equal(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                  const Graph& graph) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const std::int64_t where = first_difference(actual[i].elements, expected[i].elements);
        ASSERT_EQ(where, -1) << "output " << i << ": "
                             << actual[i].elements[static_cast<std::size_t>(where)] << " against "
                             << expected[i].elements[static_cast<std::size_t>(where)] << "\n"
                             << dump(graph);
    }
}

TEST(CpuBackend, EqualsTheReferenceBitForBitOnRandomGraphs) {
    const auto cpu = strict_backend();
    const auto reference = make_reference_backend(Precision::f32);
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const RandomGraph random(seed);
        const auto inputs = random.inputs(3);
        SCOPED_TRACE("seed " + std::to_string(seed));
        expect_equal(evaluate(*cpu, random.graph, 3, inputs),
                     evaluate(*reference, random.graph, 3, inputs), random.graph);
        if (HasFatalFailure()) {
            return;
        }
    }
}

TEST(CpuBackend, GivesAnIndividualTheSameBitsInAnyPopulation) {
    for (const Math math : {Math::strict, Math::fast}) {
        const auto cpu = make_cpu_backend({.math = math});
        for (std::uint64_t seed = 0; seed < 30; ++seed) {
            const RandomGraph random(seed);
            const auto few = evaluate(*cpu, random.graph, 7, random.inputs(7));
            const auto many = evaluate(*cpu, random.graph, 300, random.inputs(300));
            const auto one = evaluate(*cpu, random.graph, 1, random.inputs(1));
            for (std::size_t i = 0; i < few.size(); ++i) {
                const std::span seven(few[i].elements);
                EXPECT_EQ(first_difference(seven, std::span(many[i].elements).first(seven.size())),
                          -1);
                EXPECT_EQ(first_difference(one[i].elements, seven.first(one[i].elements.size())),
                          -1);
            }
        }
    }
}

TEST(CpuBackend, GivesTheSameBitsOnAnyNumberOfThreads) {
    const auto one = strict_backend(1);
    const auto two = strict_backend(2);
    const auto four = strict_backend(4);
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const RandomGraph random(seed);
        const auto inputs = random.inputs(700);
        const auto expected = evaluate(*one, random.graph, 700, inputs);
        expect_equal(evaluate(*two, random.graph, 700, inputs), expected, random.graph);
        expect_equal(evaluate(*four, random.graph, 700, inputs), expected, random.graph);
    }
}

TEST(CpuBackend, RepeatsARunOfOneProgram) {
    const auto cpu = strict_backend();
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2}, true);
    graph.output(x + 1.0);
    const auto program = cpu->compile(graph);
    const auto in = cpu->allocate(ValueType::real, 6);
    const auto out = cpu->allocate(ValueType::real, 6);
    std::vector<float> values(6);
    for (float round = 0.0F; round < 3.0F; round += 1.0F) {
        cpu->upload(*in, 0, std::span<const float>(std::vector<float>(6, round)));
        const Binding inputs[] = {{in.get(), 0}};
        const Binding outputs[] = {{out.get(), 0}};
        program->run(3, inputs, outputs);
        cpu->download(*out, 0, std::span<float>(values));
        EXPECT_THAT(values, ::testing::Each(round + 1.0F));
    }
}

TEST(CpuBackend, ReadsAndWritesBuffersFromTheBoundElement) {
    const auto cpu = strict_backend();
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2}, true);
    graph.output(x * 2.0);
    const auto buffer = cpu->allocate(ValueType::real, 8);
    const std::vector<float> values{9, 1, 2, 3, 4, 9, 9, 9};
    cpu->upload(*buffer, 0, std::span<const float>(values));
    const auto out = cpu->allocate(ValueType::real, 6);
    const Binding inputs[] = {{buffer.get(), 1}};
    const Binding outputs[] = {{out.get(), 2}};
    cpu->compile(graph)->run(2, inputs, outputs);
    std::vector<float> result(6);
    cpu->download(*out, 0, std::span<float>(result));
    EXPECT_THAT(result, ::testing::ElementsAre(0, 0, 2, 4, 6, 8));
}

/// Counts down from x; stops at zero.
Graph countdown() {
    Graph body;
    const Var alive = body.input("alive", ValueType::boolean, {});
    const Var left = body.input("left", ValueType::real, {});
    const Var steps = body.input("steps", ValueType::real, {});
    const Var next = select(alive, left - 1.0, left);
    body.output(logical_and(alive, less(0.0, next)));
    body.output(next);
    body.output(select(alive, steps + 1.0, steps));
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {}, true);
    const std::vector<Var> carries{constant(graph, 1.0, ValueType::boolean), x,
                                   constant(graph, 0.0)};
    const ScanResult result =
        scan(std::move(body), carries, {}, {}, {.length = 1000000000, .alive_carry = 0});
    graph.output(result.carries[2]);
    return graph;
}

TEST(CpuBackend, StopsAScanWhenNobodyIsAlive) {
    const auto cpu = strict_backend();
    const std::vector<Tensor> inputs{Tensor(ValueType::real, Shape{4}, {3, 1, 7, 2})};
    EXPECT_THAT(evaluate(*cpu, countdown(), 4, inputs)[0].elements,
                ::testing::ElementsAre(3, 1, 7, 2));
}

/// Adds up what one network that all share says of a sequence, for the individuals that live.
/// @param largest words of the largest network, as the program says.
Graph sum_of_a_shared_network(const Bytecode& bytecode, std::int64_t largest) {
    Graph body;
    const Var alive = body.input("alive", ValueType::boolean, {});
    const Var sum = body.input("sum", ValueType::real, {1, 1});
    const Var row = body.input("row", ValueType::real, {1, 1});
    const Var words = body.input("bytecode", ValueType::integer, {bytecode.capacity.words});
    const Var weights = body.input("weights", ValueType::real, {bytecode.capacity.weights});
    const Var state = body.input("state", ValueType::real, {1, 1});
    const Var said = body.add(
        Op::interpret, std::array{words, weights, row, state},
        InterpretAttribute{.outputs = 1, .memory = bytecode.capacity.memory, .weights = largest});
    body.output(alive);
    body.output(select(alive, sum + said, sum));
    Graph graph;
    const std::vector<Var> carries{graph.input("alive", ValueType::boolean, {}, true),
                                   graph.constant(Tensor(ValueType::real, {1, 1}))};
    const Var rows = graph.input("rows", ValueType::real, {3, 1, 1});
    const std::vector<Var> invariants{
        graph.input("bytecode", ValueType::integer, {bytecode.capacity.words}),
        graph.input("weights", ValueType::real, {bytecode.capacity.weights}),
        graph.constant(Tensor(ValueType::real, {1, 1}))};
    graph.output(scan(std::move(body), carries, std::array{rows}, invariants,
                      {.length = 3, .alive_carry = 0})
                     .carries[1]);
    return graph;
}

TEST(CpuBackend, RunsASharedNetworkForThoseThatLive) {
    const Bytecode bytecode = make_bytecode(Network(
        blueprint_from_json(nlohmann::json::parse(R"({"layers": [{"type": "dense"}]})"), 1, 1)));
    const Graph graph = sum_of_a_shared_network(bytecode, bytecode.capacity.weights);
    Tensor weights(ValueType::real, Shape{bytecode.capacity.weights});
    std::ranges::fill(weights.elements, 0.5);
    const std::vector<Tensor> inputs{
        Tensor(ValueType::boolean, Shape{2}, {0, 1}),
        Tensor(ValueType::real, Shape{3, 1, 1}, {1, 2, 3}),
        Tensor(ValueType::integer, Shape{bytecode.capacity.words},
               std::vector<double>(bytecode.words.begin(), bytecode.words.end())),
        weights};
    const auto sums = evaluate(*strict_backend(), graph, 2, inputs)[0].elements;
    const auto reference = make_reference_backend(Precision::f32);
    EXPECT_EQ(sums, evaluate(*reference, graph, 2, inputs)[0].elements);
    EXPECT_EQ(sums[0], 0.0);
    EXPECT_GT(sums[1], 0.0);
    const Graph of_smaller_ones = sum_of_a_shared_network(bytecode, bytecode.capacity.weights - 1);
    EXPECT_THROW(evaluate(*strict_backend(), of_smaller_ones, 2, inputs), ContractViolation);
    EXPECT_THROW(evaluate(*reference, of_smaller_ones, 2, inputs), ContractViolation);
}

TEST(CpuBackend, KeepsSubnormalNumbersWhateverTheCallerHasSet) {
    const auto cpu = strict_backend();
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2}, true);
    graph.output(x * 0.5);
    graph.output(x * 1.0);
    const std::vector<Tensor> inputs{Tensor(ValueType::real, Shape{1, 2}, {0x1p-126, 0x1p-130})};
    if (cpu::FloatRules::flushing == 0) GTEST_SKIP() << "this processor does not flush";
    const auto before = cpu::FloatRules::now();
    cpu::FloatRules{before.bits | cpu::FloatRules::flushing}
        .set();  // Flush results, count operands as zero.
    const auto outputs = evaluate(*cpu, graph, 1, inputs);
    volatile float small = 0x1p-126F;
    const float flushed = small * 0.5F;
    before.set();
    EXPECT_THAT(outputs[0].elements, ::testing::ElementsAre(0x1p-127, 0x1p-131));
    EXPECT_THAT(outputs[1].elements, ::testing::ElementsAre(0x1p-126, 0x1p-130));
    EXPECT_EQ(flushed, 0.0F) << "the caller's rules are not restored";
}

TEST(CpuBackend, NamesAnIndexOutOfRange) {
    const auto cpu = make_cpu_backend({.threads = 2});
    Graph graph;
    const Var table = graph.input("table", ValueType::real, {3, 2});
    const Var index = graph.input("index", ValueType::integer, {1}, true);
    graph.output(gather(table, index));
    std::vector<Tensor> inputs{Tensor(ValueType::real, Shape{3, 2}),
                               Tensor(ValueType::integer, Shape{600, 1})};
    inputs[1].elements[400] = 3;
    try {
        (void)evaluate(*cpu, graph, 600, inputs);
        FAIL() << "an index of 3 in a table of 3 rows was accepted";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("index 3"));
        EXPECT_THAT(error.what(), ::testing::HasSubstr("3 rows"));
    }
    inputs[1].elements[400] = -1;
    EXPECT_THROW((void)evaluate(*cpu, graph, 600, inputs), InputError);
    inputs[1].elements[400] = 2;
    EXPECT_NO_THROW((void)evaluate(*cpu, graph, 600, inputs));
}

TEST(CpuBackend, KeepsItsMemoryLimit) {
    const auto cpu = make_cpu_backend({.memory_limit = 4096});
    EXPECT_EQ(cpu->memory().limit, 4096);
    auto first = cpu->allocate(ValueType::real, 512);
    EXPECT_EQ(cpu->memory().used, 2048);
    EXPECT_THROW((void)cpu->allocate(ValueType::real, 513), OutOfMemoryError);
    EXPECT_EQ(cpu->memory().used, 2048);
    const auto second = cpu->allocate(ValueType::integer, 512);
    EXPECT_EQ(cpu->memory().used, 4096);
    first.reset();
    EXPECT_EQ(cpu->memory().used, 2048);
}

TEST(CpuBackend, ChargesTemporariesToTheLimit) {
    const auto cpu = make_cpu_backend({.memory_limit = 1 << 20});
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1000}, true);
    graph.output(sum_all(exp(x * 2.0)));
    const auto program = cpu->compile(graph);
    EXPECT_GE(program->peak_bytes(1), 1000 * 4);
    const auto in = cpu->allocate(ValueType::real, 1000);
    const auto out = cpu->allocate(ValueType::real, 1);
    const std::int64_t before = cpu->memory().used;
    const Binding inputs[] = {{in.get(), 0}};
    const Binding outputs[] = {{out.get(), 0}};
    program->run(1, inputs, outputs);
    EXPECT_EQ(cpu->memory().used - before, program->peak_bytes(1));
    EXPECT_EQ(cpu->memory().temporaries, program->peak_bytes(1));
    Graph larger;
    const Var y = larger.input("y", ValueType::real, {300000}, true);
    larger.output(sum_all(exp(y * 2.0)));
    const auto hungry = cpu->compile(larger);
    const auto unlimited = make_cpu_backend({});
    const auto many = unlimited->allocate(ValueType::real, 300000);
    const Binding too_many[] = {{many.get(), 0}};
    EXPECT_THROW(hungry->run(1, too_many, outputs), OutOfMemoryError);
}

TEST(CpuBackend, NamesWhatItsBitsDependOn) {
    const ArithmeticFingerprint fast = make_cpu_backend({.math = Math::fast})->describe();
    const ArithmeticFingerprint strict = strict_backend()->describe();
    EXPECT_EQ(fast.kind, "cpu");
    EXPECT_THAT(fast.library, ::testing::HasSubstr("gemm"));
    EXPECT_FALSE(fast.device.empty());
    EXPECT_EQ(strict.math, "strict");
    EXPECT_TRUE(strict.library.empty());
    EXPECT_TRUE(strict.device.empty());
    EXPECT_NE(fast, strict);
    const auto reference = [](Precision precision) {
        return arithmetic_of(*make_reference_backend(precision));
    };
    EXPECT_EQ(arithmetic_of(*strict_backend()), reference(Precision::f32));
    EXPECT_NE(arithmetic_of(*strict_backend()), reference(Precision::f64));
    // Builds without the instruction round differently.
    EXPECT_EQ(fast.library.find("without AVX2 and FMA") == std::string::npos,
              cpu::fuses_multiply_add);
}

TEST(CpuBackend, FastMathStaysCloseToTheReference) {
    const auto fast = make_cpu_backend({.math = Math::fast});
    const auto exact = make_reference_backend(Precision::f64);
    for (const bool left : {false, true}) {
        for (const bool right : {false, true}) {
            Graph graph;
            const Var a =
                graph.input("a", ValueType::real, left ? Shape{48, 40} : Shape{40, 48}, true);
            const Var b = graph.input("b", ValueType::real, right ? Shape{33, 48} : Shape{48, 33});
            graph.output(matmul(a, b, left, right));
            std::vector<Tensor> inputs{
                Tensor(ValueType::real, Shape{2, a.shape()[0], a.shape()[1]}),
                Tensor(ValueType::real, b.shape())};
            RandomStream rng(random_key(3, "matmul"), 0);
            for (Tensor& tensor : inputs) {
                for (double& x : tensor.elements) {
                    x = static_cast<double>(rng.normal());
                }
            }
            const auto actual = evaluate(*fast, graph, 2, inputs);
            const auto expected = evaluate(*exact, graph, 2, inputs);
            EXPECT_THAT(actual[0].elements,
                        ::testing::Pointwise(::testing::DoubleNear(2e-5), expected[0].elements));
        }
    }
}

}  // namespace
}  // namespace cambrian
