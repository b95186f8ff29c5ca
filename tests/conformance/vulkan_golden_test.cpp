#include <gtest/gtest.h>

#include "cambrian/tests/conformance/golden_cases.hpp"
#include "cambrian/tests/support/all_cases.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Every case of the golden directory on the Vulkan backend, op by op: fused, each would be several
// kernels of its own.
namespace cambrian::test::vulkan_golden_test {
namespace {

std::unique_ptr<Backend> unfused(Math math) {
    VulkanOptions options = test_vulkan_options(math);
    options.fuse = false;
    return make_vulkan_backend(options);
}

TEST(golden, VulkanWithStrictMath) {
    const auto backend = unfused(Math::strict);
    expect_golden(*backend);
    expect_golden_number_formats(*backend);
}

TEST(golden, VulkanWithFastMath) {
    expect_golden(*unfused(Math::fast));
}

TEST(golden, WeightFormatsUnpackedByVulkan) {
    // A kernel for each format and kind of scale, which the software device takes long to compile.
    const ScaleChoices which = all_cases() ? ScaleChoices::all : ScaleChoices::own;
    for (const Math math : {Math::strict, Math::fast})
        expect_golden_unpacked(*unfused(math), which);
}

}  // namespace
}  // namespace cambrian::test::vulkan_golden_test
