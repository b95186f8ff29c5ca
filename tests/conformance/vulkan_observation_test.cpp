#include <gtest/gtest.h>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/tests/support/network_run.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

#include <nlohmann/json.hpp>

// What a training shows of its slots is the same on both backends.
namespace cambrian::test::vulkan_observation_test {
namespace {

class Keeper final : public Observer {
  public:
    void observe(const Observation& observation) override { all.push_back(observation); }
    std::vector<Observation> all;
};

std::vector<Observation> watched(Backend& backend) {
    const DataSet data =
        make_data_set(read_source(nlohmann::json{{"type", "blobs"}, {"rows", 24}}, "source", {}),
                      {}, CrossEntropy{}, 1);
    const Network network(blueprint_of(R"({"layers": [
        {"type": "dense", "out": 5, "activation": "tanh"}, {"type": "dense"}]})",
                                       data.train.inputs.shape[-1], data.outputs));
    Trainer trainer(
        backend, network, data,
        {.epochs = 2, .batch = 12, .loss = CrossEntropy{}, .learning_rates = {0.01, 0.1}});
    Keeper keeper;
    trainer.watch(1, keeper);
    trainer.run();
    return keeper.all;
}

TEST(VulkanObservation, EqualsThatOfTheCpuUnderStrictMath) {
    const auto cpu = make_cpu_backend({.math = Math::strict});
    // Op by op, so that the kernels are those of other tests.
    VulkanOptions options = test_vulkan_options(Math::strict);
    options.fuse = false;
    const auto vulkan = make_vulkan_backend(options);
    const std::vector<Observation> expected = watched(*cpu);
    EXPECT_EQ(expected.size(), 4U * 2 * 2 * 2);
    EXPECT_EQ(watched(*vulkan), expected);
}

}  // namespace
}  // namespace cambrian::test::vulkan_observation_test
