#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view wide =
    R"({"layers": [{"type": "dense", "out": 3, "activation": "tanh"}, {"type": "dense"}]})";
constexpr std::string_view linear = R"({"layers": [{"type": "dense"}]})";

/// Rows (1, 2) and (3, −1); the fitness of a network is the sum of its outputs.
std::vector<double> sum_of_outputs(Population& population) {
    const std::vector<float> outputs = population.outputs(std::vector<float>{1, 2, 3, -1}, 2);
    std::vector<double> fitness(population.size());
    for (std::size_t i = 0; i < fitness.size(); ++i)
        fitness[i] = std::accumulate(outputs.begin() + static_cast<std::ptrdiff_t>(i * 4),
                                     outputs.begin() + static_cast<std::ptrdiff_t>(i * 4 + 4), 0.0);
    return fitness;
}

std::vector<Evaluation> evaluate_all(const Task& task, const std::vector<Genome>& genomes) {
    const auto backend = make_cpu_backend({});
    return Evaluator(*backend, task, 1).evaluate(testing::pointers_to(genomes), {});
}

/// With a preparation that no network of two inputs and an output has, or one that it may have.
class PreparedTask final : public Task {
  public:
    explicit PreparedTask(Preparation preparation) : preparation_(std::move(preparation)) {}
    std::string_view type() const override { return "prepared"; }
    TaskSignature signature() const override {
        return {.observations = 2, .outputs = 1, .host = true};
    }
    std::optional<Preparation> preparation() const override { return preparation_; }

  private:
    Preparation preparation_;
};

TEST(TaskPreparation, ThatNoFileOfANetworkCanHaveIsRefused) {
    Preparation fits;
    fits.inputs = {{.column = "a"}, {.column = "b"}};
    fits.outputs.resize(1);
    EXPECT_NO_THROW(check_preparation(PreparedTask(fits)));
    EXPECT_NO_THROW(check_preparation(*make_callback_task(2, 2, sum_of_outputs)));
    const auto said = [&](const std::function<void(Preparation&)>& spoil) {
        Preparation preparation = fits;
        spoil(preparation);
        return testing::message_of<ConfigError>(
            [&] { check_preparation(PreparedTask(preparation)); });
    };
    EXPECT_THAT(
        said([](Preparation& p) { p.inputs.resize(7); }),
        HasSubstr("task prepared cannot be used (its preparation has 7 inputs and 1 outputs, "
                  "the network has 2 and 1: files of its networks could not be read) mend"));
    EXPECT_THAT(said([](Preparation& p) { p.inputs[1].column = "a"; }),
                HasSubstr("two inputs are one column"));
    EXPECT_THAT(said([](Preparation& p) { p.inputs[0].scaling.scale = 0.0; }),
                HasSubstr("an input is scaled by no number"));
}

TEST(TaskRegistry, NamesAFactoryThatMakesNoTask) {
    TaskRegistry tasks;
    using Context = TaskContext;
    tasks.add("thrower", [](const nlohmann::json&, const Context&) -> std::unique_ptr<Task> {
        throw std::runtime_error("no luck");
    });
    tasks.add("juggler",
              [](const nlohmann::json&, const Context&) -> std::unique_ptr<Task> { throw 7; });
    tasks.add("nuller", [](const nlohmann::json&, const Context&) -> std::unique_ptr<Task> {
        return nullptr;
    });
    const auto said = [&](const char* type) {
        return testing::message_of<ConfigError>([&] {
            static_cast<void>(tasks.make({{"type", type}}, {}));
        });
    };
    EXPECT_EQ(said("thrower"), "task \"thrower\" fails (no luck) mend its factory");
    EXPECT_EQ(said("juggler"),
              "task \"juggler\" fails (it throws what is no exception) mend its factory");
    EXPECT_EQ(said("nuller"), "task \"nuller\" fails (it makes none) mend its factory");
}

TEST(CallbackTask, RunsNetworksOfAllStructuresInTheirOrder) {
    const auto task = make_callback_task(2, 2, sum_of_outputs);
    EXPECT_TRUE(task->signature().host);
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < 12; ++i)
        genomes.push_back(testing::genome_for(*task, i % 2 == 0 ? linear : wide, i));
    const auto together = evaluate_all(*task, genomes);
    const auto backend = make_cpu_backend({});
    for (std::size_t i = 0; i < genomes.size(); ++i) {
        EXPECT_EQ(together[i].fitness, evaluate_all(*task, {genomes[i]})[0].fitness);
        const auto outputs = infer(*backend, genomes[i], std::vector<float>{1, 2, 3, -1}, 2, 0);
        EXPECT_EQ(together[i].fitness, std::accumulate(outputs.begin(), outputs.end(), 0.0));
    }
}

TEST(CallbackTask, HandComputedOutputs) {
    const auto task = make_callback_task(2, 2, sum_of_outputs);
    Genome genome = testing::genome_for(*task, linear);
    genome.weights = {1, 2, 3, 4, 0.5F, -0.5F};
    // Row (1, 2): 5.5, 10.5; row (3, −1): 1.5, 4.5.
    EXPECT_EQ(evaluate_all(*task, {genome})[0].fitness, 22.0);
}

TEST(CallbackTask, MayAskSeveralTimesWithAnyBatch) {
    const auto task = make_callback_task(1, 1, [](Population& population) {
        std::vector<double> fitness(population.size());
        for (std::int64_t batch = 1; batch <= 3; ++batch) {
            const std::vector<float> rows(static_cast<std::size_t>(batch), 2.0F);
            const auto outputs = population.outputs(rows, batch);
            EXPECT_EQ(outputs.size(), population.size() * rows.size());
            for (std::size_t i = 0; i < fitness.size(); ++i)
                fitness[i] += static_cast<double>(outputs[i * rows.size()]);
        }
        return fitness;
    });
    Genome genome = testing::genome_for(*task, linear);
    genome.weights = {3, 1};
    EXPECT_EQ(evaluate_all(*task, {genome, genome})[1].fitness, 21.0);
}

TEST(CallbackTask, NonFiniteFitnessIsTheWorst) {
    const auto task = make_callback_task(
        1, 1, [](Population& population) { return std::vector(population.size(), std::nan("")); });
    const auto result = evaluate_all(*task, {testing::genome_for(*task, linear)})[0];
    EXPECT_EQ(result.status, Status::non_finite);
    EXPECT_EQ(result.fitness, worst_fitness);
}

TEST(CallbackTask, MistakesOfTheCallerAreNamed) {
    const auto short_task =
        make_callback_task(1, 1, [](Population&) { return std::vector<double>{1.0}; });
    const Genome genome = testing::genome_for(*short_task, linear);
    EXPECT_THAT(testing::message_of<ConfigError>([&] {
                    (void)evaluate_all(*short_task, {genome, genome});
                }),
                AllOf(HasSubstr("returned 1 values"), HasSubstr("has 2 networks")));
    const auto ragged = make_callback_task(1, 1, [](Population& population) {
        (void)population.outputs(std::vector<float>{1, 2, 3}, 2);
        return std::vector<double>(population.size());
    });
    EXPECT_THAT(testing::message_of<ShapeError>([&] { (void)evaluate_all(*ragged, {genome}); }),
                HasSubstr("3 values for 2 rows"));
    using Question = std::function<void(Population&, std::size_t)>;
    for (const Question& ask :
         std::vector<Question>{[](Population&all, std::size_t i) { (void)all.genome(i); },
                               [](Population&all, std::size_t i) { (void)all.origin(i); },
                               [](Population&all, std::size_t i) { all.count_steps(i, 1); },
                               [](Population&all, std::size_t i) { all.fail(i); }}) {
        const auto beyond = make_callback_task(1, 1, [&ask](Population& population) {
            ask(population, population.size());
            return std::vector<double>(population.size());
        });
        EXPECT_THAT(testing::message_of<ShapeError>([&] { (void)evaluate_all(*beyond, {genome}); }),
                    HasSubstr("asked about network 1 (there are 1"));
    }
    EXPECT_THAT(
        testing::message_of<ConfigError>([&] { (void)make_callback_task(0, 1, sum_of_outputs); }),
        HasSubstr("0 observations"));
}

}  // namespace
}  // namespace cambrian::evolve
