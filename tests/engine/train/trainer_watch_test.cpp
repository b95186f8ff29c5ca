#include "cambrian/engine/train/trainer.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/engine/train/trainer_support.hpp"

// Trainings that are watched.
namespace cambrian::trainer_watch_test {
namespace {

using nlohmann::json;
using test::data_of;
using test::network_of;
using test::tanh_layers;
using test::trained;

/// Keeps what it is told.
class Keeper final : public Observer {
  public:
    void observe(const Observation& observation) override { all.push_back(observation); }
    std::vector<Observation> all;
};

TEST(Trainer, LearnsTheSameInEveryBitWhenItIsWatched) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "blobs"}, {"rows", 50}}, CrossEntropy{});
    const json layers = {{{"type", "dense"}, {"out", 6}, {"activation", "tanh"}},
                         {{"type", "batch_norm"}},
                         {{"type", "dropout"}, {"rate", 0.25}},
                         {{"type", "dense"}}};
    const Network network = network_of(layers, data);
    const TrainingSettings settings{
        .epochs = 3, .batch = 16, .loss = CrossEntropy{}, .learning_rates = {0.01, 0.1, 0.03}};
    const auto plain = trained(*backend, network, data, settings);
    for (const std::int64_t every : {1, 3}) {
        Keeper keeper;
        Trainer trainer(*backend, network, data, settings);
        trainer.watch(every, keeper);
        trainer.run();
        for (std::size_t i = 0; i < 3; ++i)
            EXPECT_EQ(trainer.weights(static_cast<std::int64_t>(i)), plain[2 * i]);
        // Of 12 steps, the last of every epoch on 2 rows: 4 places, both ways, 3 individuals.
        ASSERT_EQ(keeper.all.size(), static_cast<std::size_t>(12 / every * 4 * 2 * 3));
        EXPECT_EQ(keeper.all.front().step, every);
        EXPECT_EQ(keeper.all.back().step, 12);
        EXPECT_EQ(keeper.all.back().count, 2 * 3);
        for (const Observation& observation : keeper.all) EXPECT_EQ(observation.not_finite, 0);
        // A quarter of the elements is dropped on the way to the head.
        const Observation& dropped = keeper.all[4];
        EXPECT_EQ(dropped.layer, "dropout");
        EXPECT_GT(dropped.active, 0.6);
        EXPECT_LT(dropped.active, 0.9);
    }
}

TEST(Trainer, IndividualsAreWatchedAsIfAlone) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "sine"}, {"rows", 20}}, MeanSquaredError{});
    const Network network = network_of(tanh_layers(5, 1), data);
    TrainingSettings settings{.epochs = 2, .batch = 8, .learning_rates = {0.01, 0.1}};
    Keeper together;
    Trainer both(*backend, network, data, settings);
    both.watch(2, together);
    both.run();
    settings.learning_rates = {0.1};
    settings.first_individual = 1;
    Keeper alone;
    Trainer one(*backend, network, data, settings);
    one.watch(2, alone);
    one.run();
    std::erase_if(together.all, [](const Observation& o) { return o.individual == 0; });
    for (Observation& observation : together.all) observation.individual = 0;
    EXPECT_EQ(together.all, alone.all);
    EXPECT_FALSE(alone.all.empty());
}

}  // namespace
}  // namespace cambrian::trainer_watch_test
