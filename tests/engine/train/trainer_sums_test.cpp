#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cambrian/engine/backend/named_buffers.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/engine/train/training_graphs.hpp"
#include "cambrian/engine/train/training_operands.hpp"
#include "cambrian/tests/engine/train/trainer_support.hpp"
#include "cambrian/tests/support/forwarding_backend.hpp"

// What trainings add up over an epoch, and over the rows of an evaluation.
namespace cambrian::trainer_sums_test {
namespace {

using test::data_of;
using test::network_of;
using test::tanh_layers;

/// 2^24 and 1 is 2^24 in f32.
TEST(TrainerSums, KeepWhatRoundingLoses) {
    constexpr double large = 1 << 24;
    Graph graph;
    training_graphs::add_to(graph, "sum", constant(graph, 1.0));
    const auto backend = make_cpu_backend({});
    NamedBuffers buffers(*backend);
    const NamedBuffers::Bindings bindings = buffers.bind(graph, 1, {});
    buffers.write("sum", Tensor::scalar(large));
    const auto program = backend->compile(graph);
    for (int step = 0; step < 1000; ++step) program->run(1, bindings.inputs, bindings.outputs);
    EXPECT_EQ(
        buffers.read("sum").elements[0] + buffers.read(training_graphs::lost_of("sum")).elements[0],
        large + 1000.0);
}

TEST(TrainerSums, OfManyStepsDoNotDrift) {
    const DataSet data = data_of({{"type", "sine"}, {"rows", 20000}}, MeanSquaredError{});
    const Network network = network_of(tanh_layers(2, 1), data);
    const TrainingSettings settings{
        .epochs = 1, .batch = 1, .optimizer = Sgd{}, .learning_rates = {0.0, 0.0}};
    const auto one_thread = make_cpu_backend({.threads = 1});
    Trainer trainer(*one_thread, network, data, settings);
    const Score whole = trainer.evaluate(Part::train)[0];
    const double loss = trainer.run_epoch()->individuals[0].train.loss;
    EXPECT_NEAR(loss / whole.loss, 1.0, 1e-7);

    // Interrupted between, with other threads.
    const auto three_threads = make_cpu_backend({.threads = 3});
    Trainer first(*three_threads, network, data, settings);
    int steps = 0;
    EXPECT_FALSE(first.run_epoch([&] { return ++steps <= 12345; }).has_value());
    static_cast<void>(first.evaluate(Part::train));
    const std::vector<std::byte> state = first.state();
    Trainer second(*one_thread, network, data, settings);
    second.restore(state, "state");
    EXPECT_EQ(second.state(), state);
    EXPECT_EQ(second.run_epoch()->individuals[0].train.loss, loss);

    // What was saved before sums kept what they lose: three arrays of a length, for the count, and
    // of the loss and of the steps left out for each individual. After them is the best epoch of
    // each.
    const std::size_t lost = 3 * sizeof(std::uint64_t) + 5 * sizeof(float);
    const std::size_t epochs = 2 * sizeof(std::int64_t);
    Trainer third(*one_thread, network, data, settings);
    third.restore(std::span(state).first(state.size() - lost - epochs), "state");
    EXPECT_NEAR(third.run_epoch()->individuals[0].train.loss / loss, 1.0, 1e-4);
}

/// Counts the runs of its programs. The host's memory is short for one of them.
class CountedRuns final : public test::ForwardingBackend {
    class CountedProgram final : public test::ForwardingProgram {
      public:
        CountedProgram(std::unique_ptr<Program> own, CountedRuns& runs)
            : ForwardingProgram(std::move(own)), runs_(&runs) {}
        void run(std::int64_t population, std::span<const Binding> inputs,
                 std::span<const Binding> outputs) override {
            if (++runs_->done == runs_->fails_at) throw std::bad_alloc();
            ForwardingProgram::run(population, inputs, outputs);
        }

      private:
        CountedRuns* runs_;
    };

  public:
    CountedRuns() : ForwardingBackend(make_cpu_backend({})) {}
    [[nodiscard]] std::unique_ptr<Program> compile(const Graph& graph) override {
        return std::make_unique<CountedProgram>(own().compile(graph), *this);
    }

    int done = 0;
    int fails_at = 0;  ///< 0: none does.
};

TEST(TrainerEvaluations, OfSmallNetworksTakeManyRowsAtOnce) {
    const auto backend = make_cpu_backend({});
    const DataSet data = data_of({{"type", "sine"}, {"rows", 600}}, MeanSquaredError{});
    const Network network = network_of(tanh_layers(8, 1), data);
    const auto loss = [&](std::int64_t batch) {
        return Trainer(*backend, network, data, {.batch = batch, .learning_rates = {0.1}})
            .evaluate(Part::train)[0]
            .loss;
    };
    EXPECT_EQ(loss(3), loss(256));
}

/// Few rows to train with, many to validate.
DataSet validated_data() {
    return data_of({{"type", "sine"}, {"rows", 264}}, MeanSquaredError{}, {.validation = 260});
}
const TrainingSettings few_rows{.epochs = 1, .batch = 2, .learning_rates = {0.001}};

TEST(TrainerEvaluations, NeedNoMoreMemoryThanAStep) {
    constexpr int width = 4096;
    constexpr std::int64_t bytes_of_many_rows = 4 * 256 * width;
    const auto backend = make_cpu_backend({.threads = 1, .memory_limit = bytes_of_many_rows});
    const DataSet data = validated_data();
    Trainer trainer(*backend, network_of(tanh_layers(width, 1), data), data, few_rows);
    EXPECT_LT(trainer.peak_bytes(), bytes_of_many_rows / 2);
    EXPECT_TRUE(trainer.run_epoch()->individuals[0].validation.has_value());
}

TEST(TrainerEvaluations, FailBeforeAnyStepWhereTheyDoNotFit) {
    const DataSet data = validated_data();
    DataSet not_validated = data;
    not_validated.validation = {};
    const Network network = network_of(tanh_layers(512, 1), data);
    const auto plenty = make_cpu_backend({.threads = 1});
    const std::int64_t of_step = Trainer(*plenty, network, not_validated, few_rows).peak_bytes();
    std::int64_t limit = 0;
    {
        const Trainer trainer(*plenty, network, data, few_rows);
        ASSERT_GT(trainer.peak_bytes(), of_step);
        limit = plenty->memory().used + (of_step + trainer.peak_bytes()) / 2;
    }
    const auto little = make_cpu_backend({.threads = 1, .memory_limit = limit});
    Trainer trainer(*little, network, data, few_rows);
    const std::vector<float> start = trainer.weights(0);
    EXPECT_THROW(static_cast<void>(trainer.run_epoch()), OutOfMemoryError);
    EXPECT_EQ(trainer.epochs_done(), 0);
    EXPECT_EQ(trainer.weights(0), start);
}

/// Programs that an evaluation of so many rows runs.
int runs_of_evaluation(const nlohmann::json& source, const nlohmann::json& layers) {
    CountedRuns runs;
    const DataSet data = data_of(source, MeanSquaredError{});
    Trainer trainer(runs, network_of(layers, data), data, few_rows);
    static_cast<void>(trainer.evaluate(Part::train));
    return runs.done;
}

// The bits of a loss depend on these rows: whoever changes them changes arithmetic_version.
TEST(TrainerEvaluations, HaveRowsThatShapesDecide) {
    const nlohmann::json rows = {{"type", "sine"}, {"rows", 256}};
    EXPECT_EQ(runs_of_evaluation(rows, tanh_layers(337, 1)), 256 / 256);
    EXPECT_EQ(runs_of_evaluation(rows, tanh_layers(338, 1)), 256 / 128);
    EXPECT_EQ(runs_of_evaluation(rows, tanh_layers(512, 3)), 256 / 64) << "it has many weights";
    const nlohmann::json attention = {{{"type", "dense"}, {"out", 8}},
                                      {{"type", "multi_head_attention"}, {"heads", 4}},
                                      {{"type", "dense"}}};
    EXPECT_EQ(runs_of_evaluation({{"type", "delay"}, {"rows", 64}, {"steps", 32}, {"delay", 1}},
                                 attention),
              64 / 8)
        << "scores count, whatever kernel a backend has";
}

TEST(TrainerEvaluations, AnEpochThatIsNotJudgedHasNotEnded) {
    const DataSet data =
        data_of({{"type", "blobs"}, {"rows", 15}}, CrossEntropy{}, {.validation = 3});
    const Network network = network_of(tanh_layers(3, 1), data);
    const TrainingSettings settings{.epochs = 3,
                                    .batch = 4,
                                    .loss = CrossEntropy{},
                                    .learning_rates = {0.1},
                                    .early_stop = {.patience = 2}};
    const auto backend = make_cpu_backend({});
    Trainer plain(*backend, network, data, settings);
    const EpochReport expected = *plain.run_epoch();

    constexpr int tried = 1;
    constexpr int steps = 3;
    constexpr int evaluation = tried + steps + 1;
    constexpr int keeping = evaluation + 1;
    for (const int fails_at : {evaluation, keeping}) {
        CountedRuns short_once;
        short_once.fails_at = fails_at;
        Trainer trainer(short_once, network, data, settings);
        EXPECT_THROW(static_cast<void>(trainer.run_epoch()), std::bad_alloc);
        EXPECT_EQ(trainer.epochs_done(), 0);
        EXPECT_EQ(trainer.best_loss(0), std::numeric_limits<double>::infinity());
        Trainer resumed(*backend, network, data, settings);
        resumed.restore(trainer.state(), "state");
        for (Trainer* const each : {&trainer, &resumed}) {
            const EpochReport report = *each->run_epoch();
            EXPECT_EQ(report.epoch, 1);
            EXPECT_EQ(report.individuals[0].train.loss, expected.individuals[0].train.loss);
            EXPECT_EQ(report.individuals[0].watched, expected.individuals[0].watched);
            EXPECT_TRUE(report.individuals[0].best);
            EXPECT_EQ(each->weights(0, Snapshot::best), plain.weights(0));
            EXPECT_EQ(each->state(), plain.state());
        }
    }
}

TEST(TrainerEvaluations, TheRowsToTestComeWhenTheyAreTested) {
    const DataSet data =
        data_of({{"type", "sine"}, {"rows", 5000}}, MeanSquaredError{}, {.test = 4900});
    const auto backend = make_cpu_backend({});
    Trainer trainer(*backend, network_of(tanh_layers(2, 1), data), data, few_rows);
    trainer.run();
    const std::int64_t before = backend->memory().used;
    static_cast<void>(trainer.evaluate(Part::test, Snapshot::best));
    EXPECT_GE(backend->memory().used - before, 4900 * 2 * 4);
}

}  // namespace
}  // namespace cambrian::trainer_sums_test
