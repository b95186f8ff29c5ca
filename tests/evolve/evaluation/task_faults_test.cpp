#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Tensor without_check(ValueType type, Shape shape, std::vector<double> elements) {
    Tensor tensor;
    tensor.type = type;
    tensor.shape = shape;
    tensor.elements = std::move(elements);
    return tensor;
}

/// The square of what networks answer, with one fault or none.
class FaultyGraphTask final : public Task {
  public:
    explicit FaultyGraphTask(std::string fault) : fault_(std::move(fault)) {}

    std::string_view type() const override { return "faulty_graph"; }
    TaskSignature signature() const override { return {.observations = 2, .outputs = 1}; }
    std::vector<Tensor> data(Phase) const override {
        if (is("short data")) return {without_check(ValueType::real, {4}, {1.0})};
        if (is("fraction")) return {without_check(ValueType::integer, {2}, {1.0, 0.5})};
        if (is("large")) return {without_check(ValueType::integer, {1}, {1e300})};
        if (is("no boolean")) return {without_check(ValueType::boolean, {1}, {2.0})};
        return {Tensor(ValueType::integer, Shape{1}, {3.0})};
    }
    std::vector<Tensor> draws(Phase, std::uint64_t, std::uint64_t round) const override {
        if (is("long draws"))
            return {without_check(ValueType::real, {2, 2}, std::vector<double>(1000, 0.5))};
        const std::int64_t rows = is("draws change") ? 2 + static_cast<std::int64_t>(round) : 2;
        const auto count = static_cast<std::size_t>(is("draws end") && round > 0 ? 0 : 1);
        return std::vector<Tensor>(count, Tensor(ValueType::real, {rows, 2},
                                                 std::vector<double>(2 * std::size_t(rows), 0.5)));
    }
    Objective build(const ObjectiveContext& context, Phase) const override {
        const Var answers = context.network.apply(context.draws[0], context.operands);
        Objective result{.fitness = -mean_all(square(answers)), .env_steps = {}, .per_sample = {}};
        const bool large = context.operands.weights.shape().elements() > 5;
        const auto steps = [&](double count) {
            return constant(context.graph, count, ValueType::integer);
        };
        if (is("steps") || (is("steps of some") && large)) result.env_steps = steps(7);
        if (is("steps back")) result.env_steps = steps(-7);
        if (is("whole accuracy")) result.accuracy = steps(1);
        if (is("samples of some") && large) result.per_sample = reshape(answers, {2});
        if (is("wide samples of some"))
            result.per_sample = slice(reshape(answers, {2}), 0, 0, large ? 2 : 1);
        if (is("elsewhere")) {
            static Graph other;
            result.fitness = constant(other, 1.0);
        }
        return result;
    }

  private:
    bool is(std::string_view fault) const { return fault_ == fault; }
    std::string fault_;
};

/// A host task of a class of its own, that gives so many values for two networks.
class MiscountingTask final : public Task {
  public:
    explicit MiscountingTask(std::size_t values) : values_(values) {}
    std::string_view type() const override { return "miscounting"; }
    TaskSignature signature() const override {
        return {.observations = 2, .outputs = 1, .host = true};
    }
    std::vector<double> evaluate(Population&, Phase, std::uint64_t, std::uint64_t) const override {
        return std::vector<double>(values_, 1.0);
    }

  private:
    std::size_t values_;
};

constexpr std::string_view small_net = R"({"layers": [{"type": "dense"}]})";
constexpr std::string_view large_net =
    R"({"layers": [{"type": "dense", "out": 3, "activation": "tanh"}, {"type": "dense"}]})";

/// What a task is told in two rounds of two networks of two structures, one after the other where
/// it is said, as on ranks of their own.
std::string said_of(const Task& task, bool apart = false) {
    const std::vector<Genome> genomes{testing::genome_for(task, small_net),
                                      testing::genome_for(task, large_net)};
    return testing::message_of<ConfigError>([&] {
        const auto backend = make_cpu_backend({.threads = 1});
        Evaluator evaluator(*backend, task, 1);
        const std::vector<const Genome*> both = testing::pointers_to(genomes);
        for (std::uint64_t round = 0; round < 2; ++round) {
            if (!apart) (void)evaluator.evaluate(both, {.phase = Phase::train, .round = round});
            for (const Genome* one : both)
                (void)evaluator.evaluate(std::array{one}, {.phase = Phase::train, .round = round});
        }
    });
}

TEST(TaskFaults, ATaskWithoutOneIsEvaluated) {
    EXPECT_EQ(said_of(FaultyGraphTask("")), "no error");
    const FaultyGraphTask task("steps");
    const auto backend = make_cpu_backend({.threads = 1});
    EXPECT_EQ(testing::evaluate_one(*backend, task, testing::genome_for(task, large_net)).env_steps,
              7U);
}

TEST(TaskFaults, ResultsThatDependOnTheStructureAreRefused) {
    for (const bool apart : {false, true}) {
        EXPECT_THAT(said_of(FaultyGraphTask("steps of some"), apart),
                    AllOf(HasSubstr("task faulty_graph gives results "), HasSubstr("mend its")));
        EXPECT_THAT(said_of(FaultyGraphTask("samples of some"), apart), HasSubstr("2 per_sample"));
        EXPECT_THAT(said_of(FaultyGraphTask("wide samples of some"), apart),
                    AllOf(HasSubstr("1 per_sample"), HasSubstr("2 per_sample")));
    }
}

TEST(TaskFaults, StepsBelowZeroAndValuesOfOtherGraphsAreRefused) {
    EXPECT_THAT(said_of(FaultyGraphTask("steps back")),
                HasSubstr("task faulty_graph gives -7 as the env_steps of a network"));
    EXPECT_THAT(said_of(FaultyGraphTask("elsewhere")),
                HasSubstr("gives a value of another graph as its fitness"));
}

TEST(TaskFaults, AnAccuracyIsARealNumber) {
    const FaultyGraphTask task("whole accuracy");
    const auto backend = make_cpu_backend({.threads = 1});
    EXPECT_THAT(testing::message_of<ConfigError>([&] {
                    (void)accuracy(*backend, task, testing::genome_for(task, small_net), 1, {});
                }),
                HasSubstr("task faulty_graph gives integer [] as its accuracy (it is real of"));
}

TEST(TaskFaults, TensorsThatDoNotHoldWhatTheySayAreRefused) {
    EXPECT_THAT(said_of(FaultyGraphTask("short data")),
                HasSubstr("task faulty_graph gives data that cannot be used (tensor 0, real [4], "
                          "has 1 elements) mend its data()"));
    EXPECT_THAT(said_of(FaultyGraphTask("long draws")), HasSubstr("has 1000 elements"));
    EXPECT_THAT(said_of(FaultyGraphTask("fraction")), HasSubstr("has an element 0.5"));
    EXPECT_THAT(said_of(FaultyGraphTask("large")), HasSubstr("has an element 1e+300"));
    EXPECT_THAT(said_of(FaultyGraphTask("no boolean")), HasSubstr("has an element 2"));
}

TEST(TaskFaults, DrawsOfOtherShapesInAnotherRoundAreRefused) {
    for (const char* fault : {"draws change", "draws end"})
        EXPECT_THAT(said_of(FaultyGraphTask(fault)),
                    HasSubstr("task faulty_graph gives draws of other shapes or types than before"))
            << fault;
}

TEST(TaskFaults, AHostTaskGivesOneFitnessForEachNetwork) {
    EXPECT_EQ(said_of(MiscountingTask(1), true), "no error");
    for (const std::size_t values : {0U, 1U, 3U})
        EXPECT_THAT(said_of(MiscountingTask(values)),
                    HasSubstr("task miscounting returned " + std::to_string(values) +
                              " fitness values (the population has 2 networks)"));
}

}  // namespace
}  // namespace cambrian::evolve
