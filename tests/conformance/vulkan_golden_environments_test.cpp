#include <gtest/gtest.h>

#include "cambrian/tests/conformance/golden_environments.hpp"
#include "cambrian/tests/support/golden_directory.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// The same trajectories on the Vulkan backend, op by op: fused, each environment would be kernels
// of its own.
namespace cambrian::test::vulkan_golden_environments_test {
namespace {

TEST(vulkan_golden_environments, Steps) {
    if (golden_set_lacks("tasks")) GTEST_SKIP() << "the golden set has no tasks/";
    for (const Math math : {Math::strict, Math::fast}) {
        VulkanOptions options = test_vulkan_options(math);
        options.fuse = false;
        const auto backend = make_vulkan_backend(options);
        expect_golden_steps(*backend, GoldenBound::f32);
    }
}

}  // namespace
}  // namespace cambrian::test::vulkan_golden_environments_test
