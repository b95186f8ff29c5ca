#include "cambrian/engine/train/targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/train/targets_support.hpp"
#include "cambrian/tests/support/all_cases.hpp"

// Trainings by targets of random networks.
namespace cambrian::targets_support {
namespace {

using testing::HasSubstr;

/// CAMBRIAN_RANDOM_NETWORKS asks for more than the quick number.
std::int64_t random_networks() {
    return static_cast<std::int64_t>(test::asked("CAMBRIAN_RANDOM_NETWORKS", 40));
}

/// What a step at rate 1 takes off the weights.
std::vector<double> first_step(Backend& backend, const Network& network, const DataSet& data,
                               TrainingMethod method, double& loss) {
    TrainingSettings settings{.epochs = 1,
                              .batch = data.train.rows(),
                              .optimizer = Sgd{},
                              .learning_rates = {1.0},
                              .method = method};
    if (method != TrainingMethod::gradient) settings.targets.step = 1.0;
    Trainer trainer(backend, network, data, settings);
    const std::vector<float> start = trainer.weights(0);
    loss = trainer.run_epoch()->individuals[0].train.loss;
    const std::vector<float> end = trainer.weights(0);
    std::vector<double> change;
    for (std::size_t i = 0; i < end.size(); ++i)
        change.push_back(static_cast<double>(end[i]) - static_cast<double>(start[i]));
    return change;
}

TEST(Targets, OfRandomNetworksByTheChainRuleHaveTheGradientOfTheLoss) {
    const auto backend = make_reference_backend(Precision::f64);
    int compared = 0;
    int meshes = 0;
    for (std::int64_t seed = 1; seed <= random_networks(); ++seed) {
        const bool time = seed % 2 == 0;
        const Network network(build(RandomNetwork{.seed = seed, .max_layers = 5},
                                    {.input_features = 6, .output_features = 2, .time = time}));
        const DataSet data = data_of(5, time ? 4 : 0, 6, 2, time && seed % 4 == 0);
        double loss = 0.0;
        double loss_of_targets = 0.0;
        std::vector<double> expected;
        std::vector<double> actual;
        try {
            expected = first_step(*backend, network, data, TrainingMethod::gradient, loss);
            actual = first_step(*backend, network, data, chain_rule, loss_of_targets);
        } catch (const ShapeError& error) {
            EXPECT_THAT(error.what(), HasSubstr("batch_norm cannot be trained")) << seed;
            continue;
        }
        // Noise of a network that is unrolled is other noise than that of one which is scanned.
        if (std::abs(loss - loss_of_targets) > 1e-9 * std::abs(loss)) {
            EXPECT_TRUE(network.stateful()) << seed;
            continue;
        }
        ++compared;
        meshes += network.blueprint().mode == NetworkMode::mesh ? 1 : 0;
        for (std::size_t i = 0; i < actual.size(); ++i)
            ASSERT_NEAR(actual[i], expected[i], 2e-6 * (1.0 + std::abs(expected[i])))
                << seed << ' ' << i << ' ' << loss;
    }
    EXPECT_GE(compared, random_networks() / 2);
    EXPECT_GE(meshes, random_networks() / 10);
}

TEST(Targets, OfRandomNetworksByLearnedInversesTeachEveryKindOfLayer) {
    const auto backend = make_cpu_backend({});
    int trained = 0;
    for (std::int64_t seed = 1; seed <= random_networks(); ++seed) {
        const bool time = seed % 2 == 0;
        const Network network(build(RandomNetwork{.seed = seed, .max_layers = 4},
                                    {.input_features = 6, .output_features = 2, .time = time}));
        const DataSet data = data_of(5, time ? 3 : 0, 6, 2);
        TrainingSettings settings{
            .epochs = 2, .batch = 5, .learning_rates = {1e-3}, .method = difference};
        try {
            Trainer trainer(*backend, network, data, settings);
            trainer.run();
            ++trained;
            for (const float weight : trainer.weights(0))
                EXPECT_TRUE(std::isfinite(weight)) << seed;
        } catch (const ShapeError& error) {
            EXPECT_THAT(error.what(), HasSubstr("batch_norm cannot be trained")) << seed;
        }
    }
    EXPECT_GE(trained, random_networks() / 2);
}

}  // namespace
}  // namespace cambrian::targets_support
