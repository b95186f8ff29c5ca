#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/engine/train/loss.hpp"
#include "cambrian/engine/train/optimizer.hpp"
#include "cambrian/engine/train/schedule.hpp"
#include "cambrian/engine/train/training_settings.hpp"

namespace cambrian {
namespace {

using nlohmann::json;
using testing::HasSubstr;

template <class Body>
std::string refusal(const Body& body) {
    try {
        body();
    } catch (const ConfigError& error) {
        return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return "";
}

/// Every type with its defaults, then with every number changed, there and back.
template <class FromJson>
void expect_round_trips(std::span<const std::string_view> types, const FromJson& from_json) {
    for (const std::string_view type : types) {
        const auto defaults = from_json(json{{"type", type}}, "x");
        EXPECT_EQ(name(defaults), type);
        json changed = json(to_json(defaults));
        for (auto& [key, value] : changed.items())
            if (value.is_number_integer())
                value = value.template get<int>() + 3;
            else if (value.is_number())
                value = 0.5;
            else if (value.is_boolean())
                value = true;
        const auto read = from_json(changed, "x");
        EXPECT_EQ(json(to_json(read)), changed) << type;
        EXPECT_EQ(from_json(json(to_json(read)), "x"), read) << type;
        EXPECT_EQ(from_json(json(to_json(defaults)), "x"), defaults) << type;
    }
}

/// Every number out of its range, every value of another type and every unknown key is refused by
/// its path.
template <class FromJson>
void expect_strict(std::span<const std::string_view> types, const FromJson& from_json) {
    for (const std::string_view type : types) {
        const json defaults = json(to_json(from_json(json{{"type", type}}, "x")));
        for (const auto& [key, value] : defaults.items()) {
            for (json bad : {json("text"), json(nullptr), json::array({1}), json(-1e300)}) {
                json changed = defaults;
                changed[key] = bad;
                EXPECT_THAT(refusal([&] { (void)from_json(changed, "here"); }),
                            HasSubstr("here." + key + " is"))
                    << type;
            }
        }
        json unknown = defaults;
        unknown["wieght"] = 1;
        EXPECT_THAT(refusal([&] { (void)from_json(unknown, "here"); }), HasSubstr("here.wieght"));
    }
    EXPECT_THAT(refusal([&] {
                    (void)from_json(json{{"type", "none"}}, "here");
                }),
                HasSubstr(std::string(types.back())));
    EXPECT_THAT(refusal([&] { (void)from_json(json(3), "here"); }), HasSubstr("here has no type"));
}

constexpr auto read_loss = [](const json& source, std::string_view path) {
    return loss_from_json(source, path);
};
constexpr auto read_optimizer = [](const json& source, std::string_view path) {
    return optimizer_from_json(source, path);
};
constexpr auto read_schedule = [](const json& source, std::string_view path) {
    return schedule_from_json(source, path);
};

TEST(TrainingSettings, SurviveJson) {
    expect_round_trips(loss_types(), read_loss);
    expect_round_trips(optimizer_types(), read_optimizer);
    expect_round_trips(schedule_types(), read_schedule);
}

TEST(TrainingSettings, RefuseWhatTheyDoNotKnow) {
    expect_strict(loss_types(), read_loss);
    expect_strict(optimizer_types(), read_optimizer);
    expect_strict(schedule_types(), read_schedule);
    EXPECT_EQ(refusal([] {
                  (void)optimizer_from_json(json{{"type", "sgd"}, {"momentum", 1.0}});
              }),
              "optimizer.momentum is 1.0 (a number of at least 0 and below 1 is needed) change it");
    EXPECT_THAT(refusal([] {
                    (void)optimizer_from_json(json{{"type", "adm"}});
                }),
                HasSubstr("did you mean \"adam\"?"));
}

TEST(TrainingSettings, NumbersThatFloat32HasAsZeroOrInfinityAreRefused) {
    const auto refused = [](const TrainingSettings& settings) {
        return refusal([&] { check(settings); });
    };
    for (const double number : {1e-46, 1e39, std::nan("")}) {
        EXPECT_THAT(refused({.clip_norm = number}), HasSubstr("training.clip_norm is "));
        EXPECT_THAT(refused({.learning_rates = {0.1, number}}),
                    HasSubstr("training.learning_rate is "));
        const auto targets = [&](const TargetSettings& own) {
            return refused(
                {.method = TrainingMethod::difference_target_propagation, .targets = own});
        };
        EXPECT_THAT(targets({.step = number}), HasSubstr("training.targets.step is "));
        EXPECT_THAT(targets({.inverse_learning_rate = number}),
                    HasSubstr("training.targets.inverse_learning_rate is "));
        EXPECT_THAT(targets({.inverse_noise = number}),
                    HasSubstr("training.targets.inverse_noise is "));
    }
    EXPECT_EQ(refused({.learning_rates = {1e-50}}),
              "training.learning_rate is 1e-50 (0 or a number from 1.2e-38 to 1e+30 is needed) "
              "change it");
    EXPECT_NO_THROW(check({.learning_rates = {0.0, 1.2e-38, 1e30}, .clip_norm = 1.2e-38}));
    EXPECT_NO_THROW(check({.clip_norm = 3.4e38}));
    EXPECT_EQ(refused({.clip_norm = 1e39}),
              "training.clip_norm is 1e+39 (a number from 1.2e-38 to 3.4e+38 is needed) change it");
    EXPECT_THAT(refusal([] {
                    (void)loss_from_json(json{{"type", "huber"}, {"delta", 1e-46}});
                }),
                HasSubstr("loss.delta is 1e-46"));
}

TEST(TrainingSettings, AdamwIsAdamWithDecoupledDecay) {
    EXPECT_EQ(optimizer_from_json(json{{"type", "adamw"}}),
              Optimizer(Adam{.weight_decay = 0.01, .decoupled = true}));
    EXPECT_EQ(optimizer_from_json(json{{"type", "adam"}, {"beta1", 0.0}}),
              Optimizer(Adam{.beta1 = 0.0}));
}

TEST(Schedule, FollowsItsRule) {
    const auto factors = [](const Schedule& schedule) {
        std::vector<double> result;
        for (const double done : {0.0, 2.5, 5.0, 7.5, 10.0})
            result.push_back(rate_factor(schedule, done, 10.0));
        return result;
    };
    const auto near = [](std::vector<double> values) {
        return testing::Pointwise(testing::DoubleNear(1e-6), values);
    };
    EXPECT_THAT(factors({ConstantRate{}}), near({1, 1, 1, 1, 1}));
    EXPECT_THAT(factors({LinearRate{0.2}}), near({1, 0.8, 0.6, 0.4, 0.2}));
    const double eighth = 0.5 + 0.5 * std::cos(0.25 * 3.14159265358979);
    EXPECT_THAT(factors({CosineRate{}}), near({1, eighth, 0.5, 1 - eighth, 0}));
    EXPECT_THAT(factors({StepRate{.epochs = 4, .factor = 0.5}}), near({1, 1, 0.5, 0.5, 0.25}));
    EXPECT_THAT(factors({OneCycleRate{.rise = 0.5, .start_factor = 0.1, .end_factor = 0}}),
                near({0.1, 0.55, 1, 0.5, 0}));
    EXPECT_THAT(factors({LinearRate{}, 5.0}), near({0, 0.5, 1, 0.5, 0}));
    EXPECT_THAT(refusal([] {
                    (void)rate_factor({LinearRate{}, 10.0}, 1.0, 10.0);
                }),
                testing::StartsWith("training.schedule.warm_up is 10"));
}

TEST(Schedule, APlateauLowersTheRateWhenTheLossStays) {
    Plateau plateau(
        {PlateauRate{.patience = 1, .factor = 0.5, .threshold = 0.1, .min_factor = 0.2}});
    std::vector<float> factors;
    for (const double loss : {1.0, 0.95, 0.8, 0.79, std::nan(""), 0.5, 0.49, 0.49, 0.49, 0.49}) {
        plateau.report(loss);
        factors.push_back(plateau.factor());
    }
    EXPECT_THAT(factors,
                testing::ElementsAre(1.0F, 1.0F, 1.0F, 1.0F, 0.5F, 0.5F, 0.5F, 0.25F, 0.25F, 0.2F));
    Plateau constant({ConstantRate{}});
    for (int epoch = 0; epoch < 30; ++epoch) constant.report(1.0);
    EXPECT_EQ(constant.factor(), 1.0F);
}

/// mean, count and right of a loss over given predictions and targets.
std::vector<double> measured(const Loss& loss, const Tensor& prediction, const Tensor& target) {
    Graph graph;
    const Var answers = graph.input("prediction", prediction.type, prediction.shape);
    const Var targets = graph.input("target", target.type, target.shape);
    const LossTerms terms = measure(loss, answers, targets);
    for (const Var value : {terms.mean, terms.count, terms.right}) graph.output(value);
    const auto backend = make_reference_backend(Precision::f64);
    const auto values = evaluate(*backend, graph, 1, std::array{prediction, target});
    return {values[0].elements[0], values[1].elements[0], values[2].elements[0]};
}

TEST(Loss, MeasuresElementsOrClasses) {
    const auto near = [](std::vector<double> values) {
        return testing::Pointwise(testing::DoubleNear(1e-9), values);
    };
    const Tensor prediction(ValueType::real, {2, 2}, {1, -1, 0.5, 3});
    const Tensor numbers(ValueType::real, {2, 2}, {0, 1, 1, 0});
    EXPECT_THAT(measured(MeanSquaredError{}, prediction, numbers), near({14.25 / 4, 4, 0}));
    EXPECT_THAT(measured(MeanAbsoluteError{}, prediction, numbers), near({6.5 / 4, 4, 0}));
    EXPECT_THAT(measured(HuberLoss{2.0}, prediction, numbers),
                near({(0.5 + 2 + 0.125 + 4) / 4, 4, 0}));
    const auto log1p = [](double x) { return std::log1p(std::exp(x)); };
    EXPECT_THAT(measured(BinaryCrossEntropy{}, prediction, numbers),
                near({(log1p(1) + log1p(1) + log1p(-0.5) + log1p(3)) / 4, 4, 1}));
    const Tensor classes(ValueType::integer, {2}, {0, -7});
    EXPECT_THAT(measured(CrossEntropy{-7}, prediction, classes), near({log1p(-2), 1, 1}));
    const Tensor wrong(ValueType::integer, {2}, {1, 0});
    EXPECT_THAT(measured(CrossEntropy{}, prediction, wrong),
                near({(log1p(2) + log1p(2.5)) / 2, 2, 0}));
}

TEST(Loss, RefusesTargetsOfAnotherShape) {
    const Tensor prediction(ValueType::real, {2, 2});
    const Tensor classes(ValueType::integer, {2});
    EXPECT_THROW((void)measured(MeanSquaredError{}, prediction, classes), ShapeError);
    EXPECT_THROW((void)measured(CrossEntropy{}, prediction, prediction), ShapeError);
    EXPECT_THROW((void)measured(CrossEntropy{}, prediction, Tensor(ValueType::integer, {2, 1})),
                 ShapeError);
}

}  // namespace
}  // namespace cambrian
