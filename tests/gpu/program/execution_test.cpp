#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/tests/engine/backend/memory_support.hpp"
#include "cambrian/tests/engine/train/training_support.hpp"
#include "cambrian/tests/gpu/support/program_support.hpp"

namespace cambrian {
namespace {

using test::test_vulkan_options;

TEST(VulkanExecution, InferenceSeesTheWeightsOfEveryTrainingStep) {
    const auto gpu = make_vulkan_backend(test_vulkan_options(Math::strict));
    const auto cpu = make_cpu_backend({.math = Math::strict});
    test::Training training(*gpu, 3);
    test::expect_inference_follows(training, *cpu, 3);
}

TEST(VulkanExecution, ATrainingStepAndAQuestionAreOneSubmissionEach) {
    const auto gpu = make_vulkan_backend(test_vulkan_options(Math::strict));
    test::Training training(*gpu, 3);
    for (int step = 0; step < 2; ++step) {
        training.step();
        training.infer();
    }
    const VulkanStatistics before = vulkan_statistics(*gpu);
    for (int step = 0; step < 5; ++step) {
        training.step();
        training.infer();
    }
    const VulkanStatistics after = vulkan_statistics(*gpu);
    EXPECT_EQ(after.submits - before.submits, 10);
    EXPECT_EQ(after.recordings, before.recordings);
    EXPECT_EQ(after.allocations, before.allocations);
}

TEST(VulkanExecution, ReadsCapturesAndGradientsOfATrainingStep) {
    const auto gpu = make_vulkan_backend(test_vulkan_options(Math::strict));
    const auto cpu = make_cpu_backend({.math = Math::strict});
    test::Training training(*gpu, 3);
    test::Training twin(*cpu, 3);
    const std::vector<std::string> names = capture_names(training.training());
    const Graph observed = with_captures(training.training(), names);
    const auto captured = [&](Backend& backend, test::Training& of) {
        std::vector<Tensor> inputs;
        for (std::size_t i = 0; i < observed.inputs().size(); ++i)
            inputs.push_back(of.buffers().read(observed.input_name(i)));
        return evaluate(backend, observed, 3, inputs);
    };
    for (int step = 0; step < 2; ++step) {
        training.step();
        twin.step();
        const std::vector<Tensor> actual = captured(*gpu, training);
        const std::vector<Tensor> expected = captured(*cpu, twin);
        ASSERT_EQ(actual.size(), observed.outputs().size());
        EXPECT_EQ(actual, expected);
    }
    EXPECT_EQ(training.buffers().read("w1"), twin.buffers().read("w1"));
}

TEST(VulkanExecution, MemoryIsSteadyOverAHundredTrainingSteps) {
    const auto gpu = make_vulkan_backend(test_vulkan_options(Math::strict));
    test::expect_steady_memory(*gpu);
}

TEST(VulkanExecution, TrimGivesTemporariesBackAndRunsGoOn) {
    const auto gpu = make_vulkan_backend(test_vulkan_options(Math::strict));
    const auto cpu = make_cpu_backend({.math = Math::strict});
    test::Training training(*gpu, 3);
    training.step();
    const std::int64_t used = gpu->memory().used;
    gpu->trim();
    EXPECT_LT(gpu->memory().used, used);
    test::expect_inference_follows(training, *cpu, 3);
}

TEST(VulkanExecution, PoisonChangesNoResult) {
    VulkanOptions options = test_vulkan_options(Math::strict);
    options.poison = true;
    const auto gpu = make_vulkan_backend(options);
    const auto cpu = make_cpu_backend({.math = Math::strict});
    test::Training training(*gpu, 3);
    test::expect_inference_follows(training, *cpu, 3);
    std::vector<float> zeros(100, 1.0F);
    gpu->download(*gpu->allocate(ValueType::real, 100), 0, std::span<float>(zeros));
    EXPECT_THAT(zeros, testing::Each(0.0F)) << "a new buffer is zeros, with poison too";
}

TEST(VulkanExecution, TheProfileTellsBytes) {
    VulkanOptions options = test_vulkan_options(Math::strict);
    options.profile = true;
    const auto gpu = make_vulkan_backend(options);
    const std::vector<Tensor> inputs{Tensor(ValueType::real, {5}), Tensor(ValueType::real, {3, 5})};
    (void)evaluate(*gpu, test::small_graph(5), 3, inputs);
    std::int64_t kernel_bytes = 0;
    for (const KernelTime& time : gpu->take_profile())
        if (time.kernel.starts_with("fused")) kernel_bytes += time.bytes;
    EXPECT_EQ(kernel_bytes, (2 * 5 + 2 * 3 * 5) * 4)
        << "x and tanh(x), which all share; w and the result of each individual";
}

}  // namespace
}  // namespace cambrian
