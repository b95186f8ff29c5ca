#include <gtest/gtest.h>

#include <vector>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/generation/generator.hpp"
#include "cambrian/tests/support/language_models.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian::gpu {
namespace {

using Texts = std::vector<std::vector<std::int64_t>>;

/// Texts of two networks that outgrow their first caches.
Texts texts(Backend& backend) {
    const Network network = test::language_network(test::language_models().front());
    Generator generator(backend, network, test::language_weights(network, 2));
    const std::vector<Prompt> prompts{{.tokens = {3, 1, 4, 1, 5}, .number = 0},
                                      {.tokens = {9}, .number = 1}};
    Texts result;
    for (const GeneratedText& text : generator.run(prompts, {.max_tokens = 12, .block = 8}))
        result.push_back(text.tokens);
    return result;
}

TEST(VulkanGeneration, GivesTheTextsOfTheCpuUnderStrictMath) {
    const auto device = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    const auto host = make_cpu_backend({.math = Math::strict});
    const Texts expected = texts(*host);
    EXPECT_NE(expected[0], expected[2]);
    EXPECT_EQ(texts(*device), expected);
}

}  // namespace
}  // namespace cambrian::gpu
