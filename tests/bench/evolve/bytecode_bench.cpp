#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>

#include "cambrian/evolve/evaluation/bytecode_batch.hpp"
#include "cambrian/evolve/evaluation/genome_groups.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/tests/bench/evolve/neuron_population.hpp"

// What the interpreted family does for every genome of a generation before anything runs.
namespace cambrian::evolve {
namespace {

constexpr std::size_t population = 10'000;

/// Networks that grew for fifty generations of default mutations.
std::vector<Genome> grown_genomes() {
    const Blueprint founder = blueprint_from_json(
        nlohmann::json::parse(R"({"layers": [{"type": "dense", "out": 16, "activation": "tanh"},
            {"type": "dense"}], "grid": {"layers_per_cell": 4}})"),
        4, 2);
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < population; ++i) {
        RandomStream rng(random_key(1, "bench.tape"), i);
        Genome genome = sample_genome(founder, rng, i);
        for (std::uint64_t birth = 1; birth <= 50; ++birth)
            genome =
                mutate(rng, MutationSettings(), {.time = true}, std::move(genome), birth).genome;
        genomes.push_back(std::move(genome));
    }
    return genomes;
}

void bytecode_of_genomes(benchmark::State& state) {
    std::vector<Individual> genomes;
    for (Genome& genome : grown_genomes()) genomes.emplace_back(std::move(genome));
    std::vector<const Individual*> pointers;
    for (const Individual& genome : genomes) pointers.push_back(&genome);
    ThreadPool threads(1);
    BytecodeBatch batch;
    std::vector<std::int32_t> bytecode;
    std::vector<float> packed;
    double weights = 0.0;
    for (const Individual& genome : genomes) weights += static_cast<double>(genome.weights.size());
    for (auto _ : state) {
        benchmark::DoNotOptimize(batch.read(pointers, threads));
        if (state.range(0) == 0) continue;
        const BytecodeCapacity most = batch.capacity(0).joined(batch.capacity(1));
        const auto words = static_cast<std::size_t>(most.words);
        const auto width = static_cast<std::size_t>(most.weights);
        bytecode.resize(words * genomes.size());
        packed.resize(width * genomes.size());
        for (std::size_t i = 0; i < genomes.size(); ++i) {
            batch.write_bytecode(i, static_cast<std::int64_t>(i * width),
                                 std::span(bytecode).subspan(i * words, words));
            batch.pack_weights(i, genomes[i].weights, std::span(packed).subspan(i * width, width));
        }
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(population));
    state.counters["weights"] = weights / static_cast<double>(population);
    state.counters["bytecode_words"] = static_cast<double>(batch.capacity(0).words);
    state.counters["packed"] = static_cast<double>(batch.capacity(0).weights);
}
BENCHMARK(bytecode_of_genomes)->ArgName("write")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

/// Which of them run side by side: grown layers, or graphs of neurons, each of its own structure.
void order_of_genomes(benchmark::State& state) {
    std::vector<Individual> genomes;
    const bool neurons = state.range(0) != 0;
    for (Genome& genome : neurons
                              ? bench::neuron_population(bench::grown_for_cart_pole, 0, population)
                              : grown_genomes())
        genomes.emplace_back(std::move(genome));
    std::vector<const Individual*> pointers;
    for (const Individual& genome : genomes) pointers.push_back(&genome);
    ThreadPool threads(1);
    BytecodeBatch batch;
    std::vector<GenomeStructure> structures;
    for (const auto& entry : batch.read(pointers, threads))
        structures.push_back(entry ? structure_of(*entry) : GenomeStructure{});
    GenomeGroups groups;
    for (auto _ : state) {
        groups.arrange(structures, 32);
        benchmark::DoNotOptimize(groups.order().data());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(population));
}
BENCHMARK(order_of_genomes)->ArgName("neurons")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cambrian::evolve
