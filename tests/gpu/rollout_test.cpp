#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/engine/random_graph.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"
#include "rollout_support.hpp"

// Whole episodes in one kernel: the bits of the CPU backend.
namespace cambrian {
namespace {

using test::first_difference;
using test::Rollout;

std::vector<Tensor> on_cpu(const Rollout& rollout, std::int64_t population) {
    const auto backend = make_cpu_backend({.threads = 2, .math = Math::strict});
    return evaluate(*backend, rollout.graph(), population, rollout.inputs(population));
}

/// Runs on the device, checks that no step of an episode was a dispatch of its own.
std::vector<Tensor> in_one_kernel(const Rollout& rollout, std::int64_t population) {
    const auto backend = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    std::vector<Tensor> results =
        evaluate(*backend, rollout.graph(), population, rollout.inputs(population));
    EXPECT_LT(vulkan_statistics(*backend).dispatches, 30);
    return results;
}

void expect_equal_bits(const std::vector<Tensor>& expected, const std::vector<Tensor>& found) {
    ASSERT_EQ(expected.size(), found.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(expected[i].shape, found[i].shape);
        EXPECT_EQ(first_difference(expected[i].elements, found[i].elements), -1)
            << "output " << i << " of " << expected[i].shape.text();
    }
}

void expect_the_bits_of_the_cpu(const std::string& network, std::int64_t episodes,
                                std::int64_t steps, std::int64_t population) {
    const Rollout rollout(network, episodes, steps);
    expect_equal_bits(on_cpu(rollout, population), in_one_kernel(rollout, population));
}

/// Largest number of individuals that the tests of whole populations take.
std::int64_t population_of_environment(std::int64_t usual) {
    const char* value = std::getenv("CAMBRIAN_TEST_POPULATION");
    return value == nullptr ? usual : std::atoll(value);
}

TEST(Rollout, PerceptronsWithEveryActivation) {
    expect_the_bits_of_the_cpu(test::multilayer_perceptron(16), 3, 100, 37);
}

TEST(Rollout, OneEpisodeOfOneIndividual) {
    expect_the_bits_of_the_cpu(test::multilayer_perceptron(5), 1, 50, 1);
}

TEST(Rollout, ALinearPolicyIsOnlyAHead) {
    expect_the_bits_of_the_cpu(R"({"layers": [{"type": "dense"}]})", 4, 60, 20);
}

TEST(Rollout, RecurrentNetworksKeepTheirStateInRegisters) {
    expect_the_bits_of_the_cpu(R"({"layers": [{"type": "rnn", "hidden": 7}, {"type": "dense"}]})",
                               3, 60, 21);
}

TEST(Rollout, BackwardLinksReadThePreviousStep) {
    expect_the_bits_of_the_cpu(
        R"({"layers": [{"type": "dense", "out": 6, "activation": "tanh"},
                       {"type": "dense", "out": 6, "activation": "relu"}, {"type": "dense"}],
            "links": [{"source": 1, "target": 0, "kind": "backward"},
                      {"source": 0, "target": "head", "kind": "forward"}]})",
        3, 60, 21);
}

TEST(Rollout, NormsAndSoftmaxStayInsideARow) {
    expect_the_bits_of_the_cpu(
        R"({"layers": [{"type": "dense", "out": 8}, {"type": "layer_norm"}, {"type": "softmax"},
                       {"type": "rms_norm"}, {"type": "dense"}]})",
        2, 40, 11);
}

TEST(Rollout, LayersTooWideForRegistersBecomeLoops) {
    expect_the_bits_of_the_cpu(test::multilayer_perceptron(80), 2, 20, 5);
}

// 10,000 individuals by CAMBRIAN_TEST_POPULATION.
TEST(Rollout, WholeEpisodesOfAPopulationDifferInNoBit) {
    expect_the_bits_of_the_cpu(test::multilayer_perceptron(16), 1, 500,
                               population_of_environment(1000));
}

TEST(Rollout, CutIntoDispatchesItGivesTheSameBits) {
    const Rollout rollout(R"({"layers": [{"type": "rnn", "hidden": 5}, {"type": "dense"}]})", 3,
                          50);
    VulkanOptions options = test::test_vulkan_options(Math::strict);
    const auto whole = make_vulkan_backend(options);
    const auto inputs = rollout.inputs(16);
    const auto expected = evaluate(*whole, rollout.graph(), 16, inputs);
    for (const double seconds : {1e-9, 2e-5, 5e-5}) {
        options.longest_dispatch = seconds;
        const auto cut = make_vulkan_backend(options);
        expect_equal_bits(expected, evaluate(*cut, rollout.graph(), 16, inputs));
        EXPECT_GT(vulkan_statistics(*cut).dispatches, vulkan_statistics(*whole).dispatches);
    }
}

TEST(Rollout, AnIndividualDoesNotSeeItsPopulation) {
    const Rollout rollout(test::multilayer_perceptron(16), 3, 100);
    const auto backend = make_vulkan_backend(test::test_vulkan_options(Math::fast));
    const auto many = evaluate(*backend, rollout.graph(), 33, rollout.inputs(33));
    const auto few = evaluate(*backend, rollout.graph(), 4, rollout.inputs(4));
    const std::span all(many[2].elements);
    EXPECT_EQ(first_difference(all.first(few[2].elements.size()), few[2].elements), -1);
}

}  // namespace
}  // namespace cambrian
