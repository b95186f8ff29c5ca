#include "cambrian/distributed/experiment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace cambrian::distributed
