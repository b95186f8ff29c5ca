#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cambrian/evolve/runs/run_log.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// What individuals learn, and what of it their children have.
namespace cambrian::launch {
namespace {

using test::TemporaryDirectory;

struct Learned {
    double best = 0.0;
    double mean = 0.0;
};

/// The generations of a run in which nothing changes a network but what it learns.
std::vector<Learned> generations_of(const std::string& mode) {
    const TemporaryDirectory directory;
    const std::string config =
        directory.write("config.json", R"({"run": {"directory": ")" + directory.file("run") +
                                           R"(", "stop": {"generations": 6}},
        "population": {"size": 6, "elite_fraction": 0.1},
        "task": {"type": "dataset", "loss": {"type": "cross_entropy"},
                 "source": {"type": "blobs", "features": 2, "classes": 3, "rows": 60}},
        "network": {"layers": [{"type": "dense"}]},
        "mutation": {"weight_rate": 0, "activation_rate": 0, "layer_type_rate": 0,
                     "layer_insert_rate": 0, "layer_toggle_rate": 0, "link_add_rate": 0,
                     "link_drop_rate": 0},
        "splice": {"rate": 0},
        "learning": {"mode": ")" + mode +
                                           R"(", "steps": 2, "batch": 60, "learning_rate": 0.01,
                     "optimizer": {"type": "sgd"}}})");
    const test::Result result = test::run({"evolve", config, "--quiet"});
    EXPECT_EQ(result.code, 0) << result.err;
    distributed::LogReader log(directory.file("run/generations.csv"));
    std::vector<Learned> generations;
    while (const auto row = log.next())
        generations.push_back({(*row)[log.at("best")], (*row)[log.at("mean")]});
    EXPECT_EQ(generations.size(), 6U);
    return generations;
}

TEST(LearningMode, BaldwinianChildrenInheritWhatWasBorn) {
    const std::vector<Learned> generations = generations_of("baldwinian");
    for (std::size_t i = 1; i < generations.size(); ++i) {
        EXPECT_NEAR(generations[i].best, generations[0].best, 1e-6);
        EXPECT_NEAR(generations[i].mean, generations[0].best, 1e-6);
    }
}

TEST(LearningMode, LamarckianChildrenInheritWhatWasLearned) {
    const std::vector<Learned> generations = generations_of("lamarckian");
    for (std::size_t i = 1; i < generations.size(); ++i) {
        EXPECT_GT(generations[i].best, generations[i - 1].best + 1e-4);
    }
}

}  // namespace
}  // namespace cambrian::launch
