#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/gpu/support/program_support.hpp"

namespace cambrian::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST_F(ProgramTest, GivesTheBitsOfTheCpu) {
    for (const std::int64_t population : {1, 3, 17, 257}) {
        const std::vector<float> x = numbers(5);
        const std::vector<float> w = numbers(5 * population, 0.25F);
        const auto inputs = std::pair(buffer(x), buffer(w));
        const auto output = backend_->allocate(ValueType::real, 5 * population);
        const auto program = backend_->compile(small_graph(5));
        program->run(population, std::vector<Binding>{{inputs.first.get()}, {inputs.second.get()}},
                     std::vector<Binding>{{output.get()}});
        EXPECT_EQ(reals(*output), expected_small(x, w));
    }
}

TEST_F(ProgramTest, ARunIsOneSubmissionAndASteadyOneAllocatesAndRecordsNothing) {
    const std::int64_t population = 64;
    const auto program = backend_->compile(small_graph(5));
    const auto x = buffer(numbers(5));
    const auto w = backend_->allocate(ValueType::real, 5 * population);
    const auto output = backend_->allocate(ValueType::real, 5 * population);
    VulkanStatistics before;
    for (int run = 0; run < 5; ++run) {
        if (run == 2) before = statistics();
        const std::vector<float> weights = numbers(5 * population, static_cast<float>(run));
        for (std::int64_t i = 0; i < population; ++i)
            backend_->upload(*w, 5 * i,
                             std::span(weights).subspan(5 * static_cast<std::size_t>(i), 5));
        program->run(population, std::vector<Binding>{{x.get()}, {w.get()}},
                     std::vector<Binding>{{output.get()}});
        EXPECT_EQ(reals(*output), expected_small(numbers(5), weights)) << "run " << run;
    }
    const VulkanStatistics after = statistics();
    EXPECT_EQ(after.submits - before.submits, 3);
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_EQ(after.recordings, before.recordings);
    EXPECT_EQ(after.pipelines, before.pipelines);
    EXPECT_EQ(before.recordings, 1);
}

TEST_F(ProgramTest, CopiesOfAllIndividualsAtOnceNeedNoPipeline) {
    Graph graph;
    graph.output(graph.input("x", ValueType::real, {5}, true));
    const std::int64_t pipelines = statistics().pipelines;
    const auto program = backend_->compile(graph);
    EXPECT_EQ(statistics().pipelines, pipelines);
    const auto input = buffer(numbers(15));
    const auto output = backend_->allocate(ValueType::real, 15);
    program->run(3, std::vector<Binding>{{input.get()}}, std::vector<Binding>{{output.get()}});
    EXPECT_EQ(reals(*output), numbers(15));
}

TEST_F(ProgramTest, RecordsAnewOnlyForOtherAddressesOrPopulations) {
    const auto program = backend_->compile(small_graph(5));
    const auto x = buffer(numbers(5));
    const auto w = buffer(numbers(5 * 8));
    const auto outputs = std::pair(backend_->allocate(ValueType::real, 5 * 8),
                                   backend_->allocate(ValueType::real, 5 * 8));
    const auto run = [&](std::int64_t population, const Binding& output) {
        program->run(population, std::vector<Binding>{{x.get()}, {w.get()}}, std::array{output});
        return statistics().recordings;
    };
    EXPECT_EQ(run(8, {outputs.first.get()}), 1);
    EXPECT_EQ(run(8, {outputs.second.get()}), 2);
    EXPECT_EQ(run(7, {outputs.first.get()}), 3);
    EXPECT_EQ(run(4, {outputs.first.get(), 20}), 4);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(run(8, {outputs.first.get()}), 4);
        EXPECT_EQ(run(8, {outputs.second.get()}), 4);
    }
    EXPECT_EQ(run(5, {outputs.first.get()}), 5);
    EXPECT_EQ(run(8, {outputs.second.get()}), 5) << "the one used last is kept";
    EXPECT_EQ(reals(*outputs.second), expected_small(numbers(5), numbers(5 * 8)));
}

TEST_F(ProgramTest, RecordingsOfMemoryThatWentBackTakeNoRoomOnTheHost) {
    constexpr std::int64_t apart = 64;
    constexpr std::int64_t width = (std::int64_t{1} << 20) - 17 * apart;
    Graph graph;
    graph.output(broadcast(graph.input("x", ValueType::real, {1}) * 2.0, {width}));
    const std::array programs{backend_->compile(graph), backend_->compile(graph),
                              backend_->compile(graph)};
    const auto x = buffer(std::vector<float>{1.5F});
    const auto output = backend_->allocate(ValueType::real, std::int64_t{1} << 20);
    const auto run = [&](std::size_t program, std::int64_t place) {
        programs[program]->run(1, std::vector<Binding>{{x.get()}},
                               std::vector<Binding>{{output.get(), place * apart}});
    };
    const auto submissions_of_a_result = [&](std::int64_t place) {
        const std::int64_t before = statistics().submits;
        run(2, place);
        std::array<float, 2> found{};
        backend_->download(*output, place * apart, std::span<float>(found));
        EXPECT_THAT(found, Each(3.0F));
        return statistics().submits - before;
    };
    for (std::int64_t place = 0; place < 16; ++place)
        for (const std::size_t program : {0U, 1U}) run(program, place);
    EXPECT_EQ(submissions_of_a_result(0), 2) << "the host has memory for 32 of them";
    // A slab of its own, which goes back.
    backend_->allocate(ValueType::real, std::int64_t{1} << 24).reset();
    backend_->trim();
    run(0, 0);
    EXPECT_EQ(submissions_of_a_result(1), 1);
}

TEST_F(ProgramTest, OutputsThatAreInputsConstantsOrRepeatedAreCopied) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3});
    const Var w = graph.input("w", ValueType::real, {3}, true);
    const Var sum = x + w;
    for (const Var out :
         {w, sum, sum, x, constant(graph, 2.5), reshape(sum, {3, 1}), slice(w, 0, 1, 2)})
        graph.output(out);
    const std::vector<Tensor> inputs{Tensor(ValueType::real, {3}, {1, 2, 3}),
                                     Tensor(ValueType::real, {2, 3}, {10, 20, 30, 40, 50, 60})};
    const auto actual = evaluate(*backend_, graph, 2, inputs);
    const auto expected = evaluate(*make_cpu_backend({}), graph, 2, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(actual[i].elements, expected[i].elements) << i;
}

TEST(VulkanMemory, PeakBytesAreWhatARunTakes) {
    const auto backend = make_vulkan_backend(test_vulkan_options());
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {40}, true);
    graph.output(reduce_sum(matmul(reshape(sin(x), {40, 1}), reshape(x, {1, 40})), 1));
    const auto program = backend->compile(graph);
    EXPECT_GE(program->peak_bytes(100), 100 * 4 * 1600);
    EXPECT_GT(program->peak_bytes(200), program->peak_bytes(100));
    const auto input = backend->allocate(ValueType::real, 40 * 200);
    const auto output = backend->allocate(ValueType::real, 40 * 200);
    const std::int64_t before = backend->memory().used;
    program->run(200, std::vector<Binding>{{input.get()}}, std::vector<Binding>{{output.get()}});
    EXPECT_EQ(backend->memory().used - before, program->peak_bytes(200));
    EXPECT_EQ(backend->memory().temporaries, program->peak_bytes(200));
}

TEST(VulkanMemory, ARunAboveTheLimitIsOutOfMemoryAndASmallerOneRuns) {
    VulkanOptions options = test_vulkan_options();
    options.memory_limit = std::int64_t{1} << 20;
    const auto backend = make_vulkan_backend(options);
    EXPECT_EQ(backend->memory().limit, options.memory_limit);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {10}, true);
    graph.output(reduce_sum(matmul(reshape(x, {10, 1}), reshape(x, {1, 10})), 1));
    const auto program = backend->compile(graph);
    const auto input = backend->allocate(ValueType::real, 10 * 5000);
    const auto output = backend->allocate(ValueType::real, 10 * 5000);
    const auto run = [&](std::int64_t population) {
        program->run(population, std::vector<Binding>{{input.get()}},
                     std::vector<Binding>{{output.get()}});
    };
    EXPECT_THAT([&] { run(5000); },
                ThrowsMessage<OutOfMemoryError>(AllOf(HasSubstr("1048576"), HasSubstr("limit"))));
    EXPECT_THROW((void)backend->allocate(ValueType::real, 1 << 20), OutOfMemoryError);
    run(1000);
    std::vector<float> values(10 * 1000, 1.0F);
    backend->download(*output, 0, std::span(values));
    EXPECT_THAT(values, Each(0.0F));
}

TEST(VulkanMemory, IdleTemporariesMakeRoomAtTheLimit) {
    VulkanOptions options = test_vulkan_options();
    options.memory_limit = std::int64_t{1} << 20;
    const auto backend = make_vulkan_backend(options);
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {10}, true);
    graph.output(reduce_sum(matmul(reshape(x, {10, 1}), reshape(x, {1, 10})), 1));
    const auto program = backend->compile(graph);
    const auto input = backend->allocate(ValueType::real, 10 * 1500);
    const auto output = backend->allocate(ValueType::real, 10 * 1500);
    const auto run = [&] {
        program->run(1500, std::vector<Binding>{{input.get()}},
                     std::vector<Binding>{{output.get()}});
    };
    const std::vector<float> ones(10 * 1500, 1.0F);
    backend->upload(*input, 0, std::span(ones));
    run();
    ASSERT_GT(backend->memory().used, 650000) << "temporaries stay for the next run";
    auto other = backend->allocate(ValueType::real, 150000);
    EXPECT_LE(backend->memory().used, 730000);
    EXPECT_THROW(run(), OutOfMemoryError);
    other.reset();
    run();
    std::vector<float> values(10 * 1500);
    backend->download(*output, 0, std::span(values));
    EXPECT_THAT(values, Each(10.0F));
}

TEST(VulkanMemory, ValuesOfAPopulationAreNoMoreThanKernelsIndex) {
    const auto backend = make_vulkan_backend(test_vulkan_options());
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {std::int64_t{1} << 20}, true);
    graph.output(reduce_sum(sin(x), 0));
    const auto program = backend->compile(graph);
    EXPECT_EQ(program->max_population(), 1024);
    // Refused before anything else is looked at, least of all buffers.
    EXPECT_THAT([&] { program->run(1025, {}, {}); },
                ThrowsMessage<OutOfMemoryError>(HasSubstr("evaluate fewer individuals at once")));
    EXPECT_THROW(program->run(1024, {}, {}), ContractViolation) << "that nothing is bound";
}

TEST(VulkanMemory, AValueOfAllIndividualsIsNoMoreThanKernelsIndex) {
    const auto backend = make_vulkan_backend(test_vulkan_options());
    const auto compile = [&](std::int64_t rows) {
        Graph graph;
        graph.output(reduce_sum(graph.input("table", ValueType::real, {rows, 4}), 0));
        return backend->compile(graph);
    };
    EXPECT_NO_THROW((void)compile(std::int64_t{1} << 28));
    EXPECT_THAT([&] { (void)compile((std::int64_t{1} << 28) + 1); },
                ThrowsMessage<OutOfMemoryError>(AllOf(
                    HasSubstr("input table takes 1073741828 words"), HasSubstr("smaller batch"))));
}

TEST(VulkanMemory, OnlyATableOfRowsThatAreGatheredMayBeMore) {
    const auto backend = make_vulkan_backend(test_vulkan_options());
    const auto compile = [&](bool also_summed) {
        Graph graph;
        const Var table = graph.input("table", ValueType::real, {std::int64_t{1} << 30, 4});
        graph.output(gather(table, graph.input("index", ValueType::integer, {1}, true)));
        if (also_summed) graph.output(reduce_sum(table, 0));
        return backend->compile(graph);
    };
    EXPECT_NO_THROW((void)compile(false));
    EXPECT_THROW((void)compile(true), OutOfMemoryError);
}

TEST(VulkanBackend, DumpsGraphsAndTellsTimes) {
    const auto directory = std::filesystem::path(testing::TempDir()) / "cambrian_vulkan_dump";
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    VulkanOptions options = test_vulkan_options();
    options.dump_directory = directory.string();
    options.profile = true;
    const auto backend = make_vulkan_backend(options);
    const std::vector<Tensor> inputs{Tensor(ValueType::real, {5}), Tensor(ValueType::real, {3, 5})};
    (void)evaluate(*backend, small_graph(5), 3, inputs);
    std::ifstream file(directory / "program-0.txt");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(text, AllOf(HasSubstr("= input"), HasSubstr("bytes of temporaries")));
    EXPECT_TRUE(std::filesystem::exists(directory / "program-0.plan.txt"));
    EXPECT_TRUE(std::filesystem::exists(directory / "program-0.dot"));
    const std::vector<KernelTime> times = backend->take_profile();
    ASSERT_FALSE(times.empty());
    for (const KernelTime& time : times) {
        EXPECT_GE(time.dispatches, 1);
        EXPECT_GE(time.seconds, 0.0);
    }
    EXPECT_THAT(times, testing::Contains(testing::Field(
                           &KernelTime::kernel, testing::ContainsRegex(" of [a-z_]+ \\[.*5\\]"))));
    EXPECT_TRUE(backend->take_profile().empty());
}

TEST(VulkanBackend, FusingChangesNoBit) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {7, 5});
    const Var w = graph.input("w", ValueType::real, {5, 3}, true);
    const Var b = graph.input("b", ValueType::real, {3}, true);
    const Var h = tanh(matmul(x, w) + b) * 0.5 + 1.0;
    graph.output(softmax(h));
    graph.output(exp(-(h * h)) / (h + 3.0));
    std::vector<Tensor> inputs{Tensor(ValueType::real, {7, 5}), Tensor(ValueType::real, {4, 5, 3}),
                               Tensor(ValueType::real, {4, 3})};
    for (Tensor& input : inputs)
        for (std::size_t i = 0; i < input.elements.size(); ++i)
            input.elements[i] = std::sin(static_cast<double>(i * i));
    VulkanOptions options = test_vulkan_options(Math::strict);
    const auto fused = evaluate(*make_vulkan_backend(options), graph, 4, inputs);
    options.fuse = false;
    const auto plain = evaluate(*make_vulkan_backend(options), graph, 4, inputs);
    const auto cpu = evaluate(*make_cpu_backend({.math = Math::strict}), graph, 4, inputs);
    for (std::size_t i = 0; i < fused.size(); ++i) {
        EXPECT_EQ(fused[i].elements, plain[i].elements);
        EXPECT_EQ(fused[i].elements, cpu[i].elements);
    }
}

TEST(VulkanBackend, StrictFingerprintsPromiseTheBitsOfTheCpu) {
    const auto strict = make_vulkan_backend(test_vulkan_options(Math::strict))->describe();
    const auto cpu = make_cpu_backend({.math = Math::strict})->describe();
    EXPECT_EQ(strict.kind, "vulkan");
    EXPECT_EQ(strict.build, cpu.build);
    EXPECT_TRUE(strict.device.empty() && strict.library.empty());
    const auto fast = make_vulkan_backend(test_vulkan_options())->describe();
    EXPECT_EQ(fast.device, test_vulkan_device().name);
    EXPECT_FALSE(fast.library.empty());
}

}  // namespace
}  // namespace cambrian::test
