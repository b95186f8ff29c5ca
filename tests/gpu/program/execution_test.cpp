#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/backend/observed_program.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
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
    ObservedProgram observed(*gpu, training.training());
    ObservedProgram expected(*cpu, twin.training());
    for (int step = 0; step < 2; ++step) {
        training.count_step();
        twin.count_step();
        const auto& [in, out] = training.training_bindings();
        observed.observe(3, in, out);
        const auto& [twin_in, twin_out] = twin.training_bindings();
        expected.observe(3, twin_in, twin_out);
        for (const std::string& name : observed.names())
            EXPECT_EQ(observed.read(name), expected.read(name)) << name;
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
