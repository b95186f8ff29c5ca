#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/tests/bench/engine/whole_trainings.hpp"

// Whole trainings: a population in one program beside one network after another, and those of
// whole_trainings.hpp.
namespace cambrian {
namespace {

using nlohmann::json;

constexpr std::int64_t individuals = 64;
constexpr std::int64_t epochs = 20;

TrainingSettings settings_of(std::vector<double> rates) {
    return {.epochs = epochs, .batch = 32, .learning_rates = std::move(rates)};
}

/// Sixty-four learning rates for a network 2-32-32-1 on 256 rows: all in one program, or each
/// in one of its own. Compiling counts.
void population_training(benchmark::State& state) {
    const DataSet data =
        make_data_set(read_source(json{{"type", "spirals"}, {"rows", 256}}, "source", {}), {},
                      MeanSquaredError{}, 1);
    const Network network(build(DenseStack{.activation = Activation::tanh},
                                {.input_features = data.train.inputs.shape[-1],
                                 .output_features = data.train.targets.shape[-1]}));
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

void training(benchmark::State& state, const WholeTraining& whole) {
    const Network network = whole.network();
    const DataSet data = whole.data();
    const auto backend = make_cpu_backend({.threads = static_cast<int>(state.range(0))});
    for (auto iteration : state) Trainer(*backend, network, data, whole.settings()).run();
}

const bool registered = [] {
    for (const WholeTraining& whole : whole_trainings())
        benchmark::RegisterBenchmark(("training/" + whole.name).c_str(), training, whole)
            ->ArgName("threads")
            ->Arg(1)
            ->Arg(2)
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime();
    return true;
}();

}  // namespace
}  // namespace cambrian
