#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/backend/memory_support.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian {
namespace {

TEST(CpuMemoryUse, IsSteadyOverAHundredTrainingSteps) {
    for (const int threads : {1, 3}) {
        const auto cpu = make_cpu_backend({.threads = threads});
        test::expect_steady_memory(*cpu);
    }
}

TEST(ReferenceMemoryUse, IsSteadyOverAHundredTrainingSteps) {
    test::expect_steady_memory(*make_reference_backend(Precision::f32));
}

TEST(CpuMemoryUse, TheLimitCountsWhatIsInUseAlone) {
    const auto cpu = make_cpu_backend({.memory_limit = 1 << 20});
    for (int round = 0; round < 100; ++round) {
        const auto buffer = cpu->allocate(ValueType::real, 60000 + 1000 * (round % 7));
        const Backend::Memory memory = cpu->memory();
        EXPECT_LE(memory.used + memory.pooled, memory.limit + memory.limit / 8);
    }
    EXPECT_EQ(cpu->memory().used, 0);
    EXPECT_GT(cpu->memory().pooled, 0);
    EXPECT_LE(cpu->memory().allocations, 7);
    cpu->trim();
    EXPECT_EQ(cpu->memory().pooled, 0);
}

/// Four values of so many elements one after the other, two of them at once.
Graph running_sums(std::int64_t elements) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {elements});
    graph.output(reduce_sum(cumsum(cumsum(cumsum(x, 0), 0), 0), 0));
    return graph;
}

TEST(CpuMemoryUse, IdleTemporariesMakeRoomAtTheLimit) {
    const auto cpu = make_cpu_backend({.memory_limit = 1 << 20});
    const std::array inputs{Tensor(ValueType::real, {75000})};
    const Graph graph = running_sums(75000);
    const auto program = cpu->compile(graph);
    ASSERT_GT(program->peak_bytes(1), 550000);
    (void)evaluate(*cpu, graph, 1, inputs);
    ASSERT_GT(cpu->memory().used, 550000) << "temporaries stay for the next run";
    auto buffer = cpu->allocate(ValueType::real, 125000);
    EXPECT_LE(cpu->memory().used, 501000);
    EXPECT_THAT([&] { (void)cpu->allocate(ValueType::real, 250000); },
                testing::ThrowsMessage<OutOfMemoryError>(
                    testing::HasSubstr("of the limit of 1048576 bytes are in use")));
    EXPECT_THROW((void)evaluate(*cpu, graph, 1, inputs), OutOfMemoryError);
    buffer.reset();
    EXPECT_EQ(evaluate(*cpu, graph, 1, inputs)[0].elements[0], 0.0);
}

TEST(CpuPoison, ChangesNoResult) {
    const auto plain = make_cpu_backend({.math = Math::strict});
    const auto poisoned = make_cpu_backend({.threads = 2, .math = Math::strict, .poison = true});
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const test::RandomGraph random(seed);
        const std::int64_t population = seed % 4 == 0 ? 300 : 3;
        const auto inputs = random.inputs(population);
        const auto expected = evaluate(*plain, random.graph, population, inputs);
        const auto actual = evaluate(*poisoned, random.graph, population, inputs);
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_EQ(test::first_difference(actual[i].elements, expected[i].elements), -1)
                << "seed " << seed << ", output " << i;
    }
    EXPECT_THAT(evaluate(*poisoned, Graph{}, 1, {}), testing::IsEmpty());
    std::vector<float> zeros(100, 1.0F);
    poisoned->download(*poisoned->allocate(ValueType::real, 100), 0, std::span<float>(zeros));
    EXPECT_THAT(zeros, testing::Each(0.0F)) << "a new buffer is zeros, with poison too";
}

TEST(CpuProfile, CountsCallsTimeAndBytesOfEachStep) {
    Graph body;
    const Var s = body.input("s", ValueType::real, {8, 4});
    const Var w = body.input("w", ValueType::real, {4, 4});
    body.output(matmul(s, w));
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {8, 4}, true);
    const Var shared = graph.input("w", ValueType::real, {4, 4});
    graph.output(scan(std::move(body), std::array{exp(x)}, {}, std::array{shared}, {.length = 5})
                     .carries[0]);
    const std::vector<Tensor> inputs{Tensor(ValueType::real, {3, 8, 4}),
                                     Tensor(ValueType::real, {4, 4})};

    EXPECT_TRUE(make_cpu_backend({})->take_profile().empty());
    const auto cpu = make_cpu_backend({.threads = 2, .profile = true});
    const auto results = evaluate(*cpu, graph, 3, inputs);
    EXPECT_EQ(results, evaluate(*make_cpu_backend({}), graph, 3, inputs));
    std::map<std::string, KernelTime> times;
    for (const KernelTime& time : cpu->take_profile()) times[time.kernel] = time;
    EXPECT_EQ(times["exp [8, 4]"].dispatches, 1);
    EXPECT_EQ(times["exp [8, 4]"].bytes, 3 * 2 * 32 * 4);
    EXPECT_EQ(times["matmul [8, 4]"].dispatches, 5);
    EXPECT_EQ(times["matmul [8, 4]"].bytes, 5 * (3 * 2 * 32 + 16) * 4);
    EXPECT_EQ(times["scan"].dispatches, 1);
    for (const auto& [kernel, time] : times) {
        EXPECT_GE(time.seconds, 0.0) << kernel;
        EXPECT_LT(time.seconds, 60.0) << kernel;
    }
    EXPECT_GT(times["matmul [8, 4]"].seconds, 0.0);
    EXPECT_TRUE(cpu->take_profile().empty());
}

}  // namespace
}  // namespace cambrian
