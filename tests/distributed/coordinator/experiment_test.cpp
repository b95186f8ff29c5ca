#include "cambrian/distributed/experiment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/distributed/coordinator/generation_log.hpp"

namespace cambrian::distributed {
namespace {

/// A task whose data set is one number.
class OneNumber final : public evolve::Task {
  public:
    explicit OneNumber(double number) : number_(number) {}
    [[nodiscard]] std::string_view type() const override { return "one_number"; }
    [[nodiscard]] evolve::TaskSignature signature() const override {
        return {.observations = 2, .outputs = 1};
    }
    [[nodiscard]] std::vector<Tensor> data(evolve::Phase) const override {
        return {Tensor::scalar(number_)};
    }

  private:
    double number_;
};

/// A task that holds samples, which nobody may copy.
class HeldSamples final : public evolve::Task {
  public:
    [[nodiscard]] std::string_view type() const override { return "held_samples"; }
    [[nodiscard]] evolve::TaskSignature signature() const override {
        return {.observations = 2, .outputs = 1};
    }
    [[nodiscard]] const Samples* held(evolve::Phase) const override { return &samples_; }
    [[nodiscard]] std::vector<Tensor> data(evolve::Phase phase) const override {
        ++copies;
        return Task::data(phase);
    }
    mutable int copies = 0;

  private:
    Samples samples_{Tensor::scalar(1.0), Tensor::scalar(2.0)};
};

/// One that makes the same.
class MadeSamples final : public evolve::Task {
  public:
    [[nodiscard]] std::string_view type() const override { return "made_samples"; }
    [[nodiscard]] evolve::TaskSignature signature() const override {
        return {.observations = 2, .outputs = 1};
    }
    [[nodiscard]] std::vector<Tensor> data(evolve::Phase phase) const override {
        return HeldSamples().data(phase);
    }
};

Experiment experiment_with(double number, std::int64_t hidden) {
    Experiment experiment;
    experiment.identity_json = R"({"task":{"type":"one_number"}})";
    experiment.task = std::make_shared<OneNumber>(number);
    experiment.variation.founder = blueprint_from_json(
        {{"layers", {{{"type", "dense"}, {"out", hidden}}, {{"type", "dense"}}}}}, 2, 1);
    return experiment;
}

TEST(RunIdentity, HoldsTheKeysOfTheConfig) {
    EXPECT_THAT(run_identity(experiment_with(1.0, 3)), testing::HasSubstr("one_number"));
    EXPECT_EQ(run_identity(experiment_with(1.0, 3)), run_identity(experiment_with(1.0, 3)));
}

TEST(RunIdentity, ChangesWithDataAndFounderBehindAnEqualConfig) {
    EXPECT_NE(run_identity(experiment_with(1.0, 3)), run_identity(experiment_with(2.0, 3)));
    EXPECT_NE(run_identity(experiment_with(1.0, 3)), run_identity(experiment_with(1.0, 4)));
}

TEST(RunIdentity, HashesSamplesWhereTheyAre) {
    Experiment experiment = experiment_with(1.0, 3);
    experiment.task = std::make_shared<MadeSamples>();
    const std::string made = run_identity(experiment);
    const auto held = std::make_shared<HeldSamples>();
    experiment.task = held;
    EXPECT_EQ(run_identity(experiment), made);
    EXPECT_EQ(held->copies, 0);
}

TEST(MakeStrategy, IslandsSpliceAtRatesOfTheirOwn) {
    Experiment experiment = experiment_with(1.0, 3);
    experiment.population.size = 40;
    experiment.islands.count = 2;
    experiment.variation.splice.rate = 0.5F;
    experiment.variation.islands.resize(2);
    experiment.variation.islands[0].splice.rate = 0.0F;
    experiment.variation.islands[1].splice.rate = 1.0F;
    const auto founders = make_strategy(experiment);
    evolve::Scores scores(40);
    std::ranges::fill(scores.status, evolve::Status::ok);
    std::ranges::fill(scores.fitness, 1.0);
    ThreadPool threads(1);
    const auto children = founders->apply(founders->decide(scores, threads));
    std::array<int, 2> varied{};
    for (std::uint64_t position = 0; position < 40; ++position) {
        const evolve::Birth birth = children->birth(position);
        if (birth.recipe == evolve::Recipe::vary) {
            EXPECT_EQ(birth.parents.size(), 1 + birth.island) << position;
            ++varied.at(birth.island);
        }
    }
    EXPECT_THAT(varied, testing::ElementsAre(15, 15));
}

TEST(Formats, AreLoggedWhereAnyIslandOrFounderHasThem) {
    Experiment experiment = experiment_with(1.0, 3);
    EXPECT_FALSE(uses_formats(experiment));
    experiment.variation.islands.resize(2);
    EXPECT_FALSE(uses_formats(experiment));
    experiment.variation.islands[1].mutation.dtype_rate = 0.1F;
    EXPECT_TRUE(uses_formats(experiment));
    experiment.variation.islands.clear();
    evolve::Genome plain;
    plain.blueprint = experiment.variation.founder;
    evolve::Genome encoded = plain;
    encoded.blueprint.head_formats.weights = Dtype::int8;
    experiment.variation.initial =
        std::make_shared<evolve::InitialNetworks>(std::vector{plain, encoded});
    EXPECT_TRUE(uses_formats(experiment));
}

}  // namespace
}  // namespace cambrian::distributed
