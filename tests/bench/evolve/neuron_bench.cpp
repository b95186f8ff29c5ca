#include <benchmark/benchmark.h>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/tests/bench/evolve/neuron_population.hpp"

// Populations of networks of single neurons, each of a structure of its own, as graphs and as data;
// one thread. Every iteration has structures never seen before, as generations have.
namespace cambrian::evolve {
namespace {

void evaluate_new_structures(benchmark::State& state, const Task& task,
                             const test::NeuronDraw& draw, std::uint64_t count) {
    const auto backend = make_cpu_backend({.threads = 1});
    const auto family = state.range(0) == 0 ? Family::graph : Family::interpreted;
    Evaluator evaluator(*backend, task, 1, family);
    std::uint64_t generation = 0;
    const auto individuals = [&] {
        std::vector<Individual> all;
        for (Genome& genome : bench::neuron_population(draw, generation++ * count, count))
            all.emplace_back(std::move(genome));
        return all;
    };
    double connections = 0.0;
    for (auto _ : state) {
        state.PauseTiming();
        const std::vector<Individual> population = individuals();
        std::vector<const Individual*> pointers;
        for (const Individual& each : population) pointers.push_back(&each);
        connections = static_cast<double>(population.back().weights.size());
        state.ResumeTiming();
        benchmark::DoNotOptimize(evaluator.evaluate(pointers, {.round = generation}));
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
    state.counters["compiled"] = static_cast<double>(evaluator.counters().programs_compiled);
    state.counters["genes_of_last"] = connections;
}

/// 150 networks on the four rows of xor.
void neurons_xor(benchmark::State& state) {
    const auto task = standard_tasks().make({{"type", "xor"}}, {});
    evaluate_new_structures(state, *task, bench::evolved_for_xor, 150);
}
BENCHMARK(neurons_xor)->ArgName("interpreted")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

/// Networks of 5 to 60 neurons, five episodes of 500 steps each. As graphs there are fewer: each is
/// compiled.
void neurons_cart_pole(benchmark::State& state) {
    const auto task = bench::endless_cart_pole(5, 500);
    evaluate_new_structures(state, *task, bench::grown_for_cart_pole,
                            state.range(0) == 0 ? 50 : 10'000);
}
BENCHMARK(neurons_cart_pole)
    ->ArgName("interpreted")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->MinTime(1.0);

}  // namespace
}  // namespace cambrian::evolve
