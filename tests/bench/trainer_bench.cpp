#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/engine/train/trainer.hpp"

// Whole trainings: a population in one program beside one network after another, and networks of
// other sizes for 20 epochs of 8 batches.
namespace cambrian {
namespace {

using nlohmann::json;

constexpr std::int64_t individuals = 64;
constexpr std::int64_t epochs = 20;

json dense(std::int64_t width) {
    return {{"type", "dense"}, {"out", width}, {"activation", "tanh"}};
}

Network network_of(const json& network, const DataSet& data) {
    return Network(
        blueprint_from_json(network, data.train.inputs.shape[-1], data.train.targets.shape[-1]));
}

/// Rows of uniform numbers with targets of eight.
DataSet random_rows(std::int64_t rows, std::int64_t features) {
    DataSet data;
    data.train.inputs = Tensor(ValueType::real, Shape{rows, features});
    data.train.targets = Tensor(ValueType::real, Shape{rows, 8});
    RandomStream stream(random_key(1, "bench"), 0);
    for (Tensor* tensor : {&data.train.inputs, &data.train.targets})
        for (double& value : tensor->elements) value = static_cast<double>(stream.uniform());
    data.outputs = 8;
    return data;
}

TrainingSettings settings_of(std::vector<double> rates) {
    return {.epochs = epochs, .batch = 32, .learning_rates = std::move(rates)};
}

/// Sixty-four learning rates for a network 2-32-32-1 on 256 rows: all in one program, or each
/// in one of its own. Compiling counts.
void population_training(benchmark::State& state) {
    const DataSet data =
        make_data_set(read_source(json{{"type", "spirals"}, {"rows", 256}}, "source", {}), {},
                      MeanSquaredError{}, 1);
    const Network network =
        network_of({{"layers", {dense(32), dense(32), {{"type", "dense"}}}}}, data);
    const auto backend = make_cpu_backend({.threads = static_cast<int>(state.range(1))});
    const bool together = state.range(0) == 1;
    std::vector<double> rates;
    for (std::int64_t i = 0; i < individuals; ++i)
        rates.push_back(1e-4 * static_cast<double>(i + 1));
    for (auto iteration : state) {
        if (together) {
            Trainer(*backend, network, data, settings_of(rates)).run();
            continue;
        }
        for (const double rate : rates) Trainer(*backend, network, data, settings_of({rate})).run();
    }
}
BENCHMARK(population_training)
    ->ArgNames({"together", "threads"})
    ->ArgsProduct({{1, 0}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// 20 epochs of 8 batches by plain descent, as in the trainings that the engine is compared with.
void training(benchmark::State& state, const json& network, std::int64_t batch,
              std::int64_t features) {
    const DataSet data = random_rows(8 * batch, features);
    const Network built = network_of(network, data);
    const auto backend = make_cpu_backend({.threads = static_cast<int>(state.range(0))});
    for (auto iteration : state)
        Trainer(*backend, built, data,
                {.epochs = epochs, .batch = batch, .optimizer = Sgd{}, .learning_rates = {0.01}})
            .run();
}
#define CAMBRIAN_TRAINING(name, network, batch, features)       \
    BENCHMARK_CAPTURE(training, name, network, batch, features) \
        ->ArgName("threads")                                    \
        ->Arg(1)                                                \
        ->Arg(2)                                                \
        ->Unit(benchmark::kMillisecond)                         \
        ->UseRealTime()

const json head{{"type", "dense"}};
const json norm{{"type", "rms_norm"}};

/// Convolutions of kernel 3 with as many elements as before, then the head.
json convolutions(const char* type, const json& input, const std::vector<int>& channels) {
    json layers = json::array();
    for (const int count : channels)
        layers.push_back({{"type", type},
                          {"out_channels", count},
                          {"kernel", 3},
                          {"padding", 1},
                          {"activation", "relu"}});
    layers.push_back(head);
    return {{"input", input}, {"layers", layers}};
}

CAMBRIAN_TRAINING(dense, (json{{"layers", {dense(512), dense(512), head}}}), 64, 128);
CAMBRIAN_TRAINING(deep, (json{{"layers", {dense(512), dense(512), dense(512), dense(512), head}}}),
                  64, 128);
CAMBRIAN_TRAINING(rms_norm, (json{{"layers", {dense(512), norm, dense(512), head}}}), 64, 128);

CAMBRIAN_TRAINING(conv1d, convolutions("conv1d", {3, 128}, {32, 64}), 32, 3 * 128);
CAMBRIAN_TRAINING(conv2d, convolutions("conv2d", {3, 32, 32}, {16, 32}), 16, 3 * 32 * 32);
CAMBRIAN_TRAINING(conv3d, convolutions("conv3d", {2, 8, 8, 8}, {8}), 8, 2 * 8 * 8 * 8);

}  // namespace
}  // namespace cambrian
