#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"

// Whole evaluations, from genomes to fitness, on one thread.
namespace cambrian::evolve {
namespace {

Genome genome_for(const Task& task, const nlohmann::json& network, std::uint64_t id) {
    RandomStream rng(random_key(1, "bench"), id);
    return sample_genome(
        blueprint_from_json(network, task.signature().observations, task.signature().outputs), rng,
        id);
}

nlohmann::json dense(std::int64_t hidden, int layers) {
    nlohmann::json list = nlohmann::json::array();
    for (int i = 0; i < layers; ++i)
        list.push_back({{"type", "dense"}, {"out", hidden}, {"activation", "tanh"}});
    list.push_back({{"type", "dense"}});
    return {{"layers", list}};
}

void measure(benchmark::State& state, const Task& task, const std::vector<Genome>& genomes) {
    const auto backend = make_cpu_backend({});
    Evaluator evaluator(*backend, task, 1);
    std::vector<const Genome*> pointers;
    for (const Genome& genome : genomes) pointers.push_back(&genome);
    (void)evaluator.evaluate(pointers, {});
    std::uint64_t round = 0;
    for (auto _ : state)
        benchmark::DoNotOptimize(
            evaluator.evaluate(pointers, {.phase = Phase::train, .round = ++round}));
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(genomes.size()));
}

/// 150 networks of 20 structures.
void xor_generation(benchmark::State& state) {
    const auto task = standard_tasks().make({{"type", "xor"}}, {});
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < 150; ++i)
        genomes.push_back(
            genome_for(*task, dense(static_cast<std::int64_t>(2 + i % 10), 1 + i / 10 % 2), i));
    measure(state, *task, genomes);
}
BENCHMARK(xor_generation)->Unit(benchmark::kMicrosecond);

/// 20 structures never seen before, one network each: mostly compilation.
void xor_new_structures(benchmark::State& state) {
    const auto task = standard_tasks().make({{"type", "xor"}}, {});
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < 20; ++i)
        genomes.push_back(
            genome_for(*task, dense(static_cast<std::int64_t>(2 + i % 10), 1 + i / 10 % 2), i));
    std::vector<const Genome*> pointers;
    for (const Genome& genome : genomes) pointers.push_back(&genome);
    const auto backend = make_cpu_backend({});
    for (auto _ : state) {
        Evaluator evaluator(*backend, *task, 1);
        benchmark::DoNotOptimize(evaluator.evaluate(pointers, {}));
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(genomes.size()));
}
BENCHMARK(xor_new_structures)->Unit(benchmark::kMicrosecond);

/// 1,000 networks of three layers of 32 × 32, one row each.
void three_wide_layers(benchmark::State& state) {
    const auto task = make_callback_task(32, 32, [](Population& population) {
        const std::vector<float> row(32, 0.5F);
        benchmark::DoNotOptimize(population.outputs(row, 1));
        return std::vector<double>(population.size());
    });
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < 1000; ++i) genomes.push_back(genome_for(*task, dense(32, 2), i));
    measure(state, *task, genomes);
}
BENCHMARK(three_wide_layers)->Unit(benchmark::kMillisecond);

/// Whole rollouts of 1,000 fresh networks, 5 episodes each.
void cart_pole_generation(benchmark::State& state) {
    const auto task = standard_tasks().make({{"type", "cart_pole"}}, {});
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < 1000; ++i) genomes.push_back(genome_for(*task, dense(16, 1), i));
    measure(state, *task, genomes);
}
BENCHMARK(cart_pole_generation)->Unit(benchmark::kMillisecond);

/// 100 networks that balance for all 500 steps.
void cart_pole_balanced(benchmark::State& state) {
    const auto task = standard_tasks().make({{"type", "cart_pole"}}, {});
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < 100; ++i) {
        genomes.push_back(genome_for(*task, dense(16, 0), i));
        genomes.back().weights = {0, 0, 0, 0, 0.5F, 1, 10, 3, 0, 0};
    }
    measure(state, *task, genomes);
}
BENCHMARK(cart_pole_balanced)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cambrian::evolve
