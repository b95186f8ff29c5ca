#include <gtest/gtest.h>

#include "cambrian/engine/backend/named_buffers.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/engine/train/training_graphs.hpp"
#include "cambrian/engine/train/training_operands.hpp"
#include "cambrian/tests/engine/train/trainer_support.hpp"

// What trainings add up over an epoch.
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
    // of the loss and of the steps left out for each individual.
    const std::size_t lost = 3 * sizeof(std::uint64_t) + 5 * sizeof(float);
    Trainer third(*one_thread, network, data, settings);
    third.restore(std::span(state).first(state.size() - lost), "state");
    EXPECT_NEAR(third.run_epoch()->individuals[0].train.loss / loss, 1.0, 1e-4);
}

}  // namespace
}  // namespace cambrian::trainer_sums_test
