#include <benchmark/benchmark.h>

#include "cambrian/evolve/genome/distance.hpp"
#include "cambrian/evolve/genome/dna.hpp"
#include "cambrian/evolve/variation/variation.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"

namespace cambrian::evolve {
namespace {

using testing::Place;

Blueprint volumetric() {
    return testing::blueprint(32, {{"dense", 32, Activation::tanh}, {"dense", 32}}, 32);
}

Blueprint small() {
    return testing::blueprint(2, {{"dense", 4, Activation::tanh}, {}, {}}, 1);
}

void materialise(benchmark::State& state, const Blueprint& founder, std::size_t parents) {
    VariationSettings settings;
    settings.founder = founder;
    const Variation variation(1, settings);
    const Genome first = testing::founder(founder, 1);
    const Genome second = testing::founder(founder, 2);
    const std::vector<const Genome*> genomes{&first, &second};
    Birth birth{.id = 0, .recipe = Recipe::vary, .parents = {}};
    for (std::size_t i = 0; i < parents; ++i) {
        birth.parents.push_back({.birth = i, .fitness = 1.0});
    }
    for (auto iteration : state) {
        ++birth.id;
        benchmark::DoNotOptimize(
            variation.materialise(birth, std::span(genomes).first(parents)).genome.weights.data());
    }
}

void mutate_volumetric(benchmark::State& state) {
    materialise(state, volumetric(), 1);
}
void splice_volumetric(benchmark::State& state) {
    materialise(state, volumetric(), 2);
}
void mutate_small(benchmark::State& state) {
    materialise(state, small(), 1);
}
void splice_small(benchmark::State& state) {
    materialise(state, small(), 2);
}
BENCHMARK(mutate_volumetric);
BENCHMARK(splice_volumetric);
BENCHMARK(mutate_small);
BENCHMARK(splice_small);

void hash_genome(benchmark::State& state, const Blueprint& founder) {
    const Genome genome = testing::founder(founder);
    for (auto iteration : state) {
        benchmark::DoNotOptimize(content_hash(genome));
    }
}
void hash_volumetric(benchmark::State& state) {
    hash_genome(state, volumetric());
}
void hash_small(benchmark::State& state) {
    hash_genome(state, small());
}
BENCHMARK(hash_volumetric);
BENCHMARK(hash_small);

/// What a species asks of every child: two individuals whose structures know their histories.
void distance_of(benchmark::State& state, const Blueprint& founder) {
    const Individual a(testing::founder(founder, 1));
    const Individual b(testing::founder(founder, 2));
    for (auto iteration : state) {
        benchmark::DoNotOptimize(distance(a, b, DistanceSettings{}));
    }
}
void distance_volumetric(benchmark::State& state) {
    distance_of(state, volumetric());
}
void distance_small(benchmark::State& state) {
    distance_of(state, small());
}
BENCHMARK(distance_volumetric);
BENCHMARK(distance_small);

/// 512 layers of 32 × 32, against itself (range 0) or against a stranger (range 1).
void compare_512(benchmark::State& state) {
    const Blueprint founder =
        testing::blueprint(32, std::vector<Place>(512, Place{"dense", 32}), 32);
    const Genome a = testing::founder(founder, 1);
    const Genome b = testing::founder(founder, state.range(0) == 0 ? 1 : 2);
    for (auto iteration : state) {
        benchmark::DoNotOptimize(compare(a, b).overall);
    }
}
BENCHMARK(compare_512)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cambrian::evolve
