#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/support/network_run.hpp"
#include "cambrian/tests/support/recording_reporter.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// A data error costs the birth that makes it its fitness, and no other, on both backends.
namespace cambrian::test::vulkan_data_error_test {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

/// Of two structures each: one that looks up a row that is there, and one that does not.
std::vector<evolve::Genome> right_and_wrong_networks() {
    std::vector<evolve::Genome> genomes;
    RandomStream rng(random_key(7, "right and wrong networks"), 0);
    for (const int features : {3, 4})
        for (const int index : {0, 100})
            genomes.push_back(evolve::sample_genome(blueprint_of(fmt::format(R"({{"layers": [
                    {{"type": "dense", "out": 1, "init": "constant", "init_scale": {}}},
                    {{"type": "embedding", "vocabulary": 1, "features": {}}},
                    {{"type": "dense"}}]}})",
                                                                             index, features),
                                                                 2, 1),
                                                    rng, 0));
    return genomes;
}

struct Ran {
    distributed::GenerationReport last;
    std::vector<std::string> warnings;
};

/// One generation of those networks, all in one shard.
Ran run_on(Backend& backend) {
    const TemporaryDirectory directory;
    distributed::Experiment experiment;
    experiment.name = "data_errors";
    experiment.directory = directory.path() / "run";
    experiment.task = evolve::standard_tasks().make(nlohmann::json{{"type", "xor"}}, {});
    experiment.variation.initial =
        std::make_shared<const evolve::InitialNetworks>(right_and_wrong_networks());
    experiment.variation.founder = experiment.variation.initial->genomes.front().blueprint;
    experiment.family = evolve::FamilyChoice::graph;
    experiment.population.size = experiment.distribution.shard_size = 4;
    experiment.stop.generations = 1;
    experiment.identity_json = experiment.resolved_json = R"({"task": {"type": "xor"}})";
    RecordingReporter reporter;
    distributed::Communicator alone = distributed::make_local_communicator();
    const std::atomic<int> interrupt = 0;
    const distributed::RunResult result = distributed::run_coordinator(
        alone, backend, experiment, distributed::Start::fresh, reporter, interrupt);
    return {result.last, reporter.warnings};
}

TEST(VulkanDataErrors, CostNoOtherBirthItsFitness) {
    const Ran expected = run_on(*make_cpu_backend({.math = Math::strict}));
    EXPECT_THAT(expected.warnings, ElementsAre(StartsWith("birth 1"), StartsWith("birth 3")));
    // Op by op, so that the kernels are those of other tests.
    VulkanOptions options = test_vulkan_options(Math::strict);
    options.fuse = false;
    const Ran found = run_on(*make_vulkan_backend(options));
    EXPECT_EQ(found.warnings, expected.warnings);
    EXPECT_EQ(found.last.invalid, 2U);
    EXPECT_EQ(found.last.best, expected.last.best);
    EXPECT_EQ(found.last.mean, expected.last.mean);
}

}  // namespace
}  // namespace cambrian::test::vulkan_data_error_test
