#include <gtest/gtest.h>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/tests/support/network_run.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

#include <nlohmann/json.hpp>

// What slots learn from their targets is the same on both backends.
namespace cambrian::test::vulkan_targets_test {
namespace {

std::vector<float> learned(Backend& backend, const std::string& mode, TrainingMethod method) {
    DataSet data =
        make_data_set(read_source(nlohmann::json{{"type", "blobs"}, {"rows", 24}}, "source", {}),
                      {}, CrossEntropy{}, 1);
    const std::int64_t features = data.train.inputs.shape[1];
    if (mode == "mesh") {
        // A row is a sequence of two of its numbers: whatever it means, it is computed alike.
        data.train.inputs = Tensor(ValueType::real, {12, 2, features}, data.train.inputs.elements);
        data.train.targets.elements.resize(12);
        data.train.targets.shape = Shape{12};
    }
    const Network network(blueprint_of(R"({"mode": ")" + mode + R"(", "layers": [
        {"type": "dense", "out": 5, "activation": "tanh"}, {"type": "dense", "out": 5, "activation": "tanh"},
        {"type": "dense"}]})",
                                       features, data.outputs));
    Trainer trainer(backend, network, data,
                    {.epochs = 2,
                     .batch = 12,
                     .loss = CrossEntropy{},
                     .learning_rates = {0.01, 0.1},
                     .method = method});
    trainer.run();
    std::vector<float> all = trainer.weights(0);
    const std::vector<float> second = trainer.weights(1);
    all.insert(all.end(), second.begin(), second.end());
    return all;
}

TEST(VulkanTargets, TeachTheSameBitsAsOnTheCpuUnderStrictMath) {
    const auto cpu = make_cpu_backend({.math = Math::strict});
    // Op by op, so that the kernels are those of other tests.
    VulkanOptions options = test_vulkan_options(Math::strict);
    options.fuse = false;
    const auto vulkan = make_vulkan_backend(options);
    for (const std::string mode : {"chain", "mesh"})
        for (const TrainingMethod method :
             {TrainingMethod::target_propagation, TrainingMethod::difference_target_propagation})
            EXPECT_EQ(learned(*vulkan, mode, method), learned(*cpu, mode, method))
                << mode << ' ' << name(method);
}

}  // namespace
}  // namespace cambrian::test::vulkan_targets_test
