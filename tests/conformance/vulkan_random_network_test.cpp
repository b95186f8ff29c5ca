#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/tests/support/all_cases.hpp"
#include "cambrian/tests/support/network_passes.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Networks of anything give the same bits on both backends under strict math.
namespace cambrian::test::vulkan_random_network_test {
namespace {

/// CAMBRIAN_RANDOM_NETWORKS asks for more than the quick number.
std::uint64_t networks() {
    return asked("CAMBRIAN_RANDOM_NETWORKS", 4);
}

TEST(VulkanRandomNetworks, AnswerAndLearnAsOnTheCpu) {
    const auto cpu = make_cpu_backend({.math = Math::strict});
    // Op by op, so that the kernels are those of other tests.
    VulkanOptions options = test_vulkan_options(Math::strict);
    options.fuse = false;
    const auto vulkan = make_vulkan_backend(options);
    for (std::uint64_t number = 0; number < networks(); ++number) {
        RandomStream rng(random_key(31, "test networks"), number);
        const Blueprint blueprint =
            draw_network(rng, {.max_layers = 4, .max_elements = 16, .max_weights = 512},
                         {.input_features = 12, .output_features = 2, .time = number % 2 == 1});
        SCOPED_TRACE("network " + std::to_string(number) + ": " + to_json(blueprint).dump());
        const Network network(blueprint);
        const std::vector<float> weights = start_weights(network, number);
        const Tensor x = some_inputs(network, 3, 2, 0);
        EXPECT_EQ(infer(*vulkan, network, weights, x).elements,
                  infer(*cpu, network, weights, x).elements);
        EXPECT_EQ(train_gradient(*vulkan, network, weights, x).elements,
                  train_gradient(*cpu, network, weights, x).elements);
    }
}

}  // namespace
}  // namespace cambrian::test::vulkan_random_network_test
