#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"
#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"
#include "cambrian/engine/network/bytecode/neuron_table.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/tests/evolve/support/bytecode_support.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"
#include "cambrian/tests/support/neuron_networks.hpp"

// Graphs of single neurons as data: the bits of the graph form, and nothing compiled for a
// structure.
namespace cambrian::evolve::testing {
namespace neuron_bytecode {

using test::NeuronDraw;
using test::random_neuron_genome;

/// Without state, with connections into the past, continuous, the same with plastic ones, and large
/// ones of sums, most of which go together.
const std::vector<NeuronDraw>& draws() {
    static const std::vector<NeuronDraw> all{
        {.in = 3, .out = 2, .max_hidden = 12, .max_inputs = 7, .every_function = true},
        {.in = 3, .out = 2, .max_hidden = 9, .every_function = true, .delayed = 0.4F},
        {.in = 3, .out = 2, .max_hidden = 9, .delayed = 0.3F, .continuous = true},
        {.in = 3,
         .out = 2,
         .max_hidden = 9,
         .every_function = true,
         .delayed = 0.2F,
         .plastic = 0.6F},
        {.in = 3, .out = 2, .max_hidden = 9, .continuous = true, .plastic = 0.4F},
        {.in = 3, .out = 2, .max_hidden = 40, .max_inputs = 4, .all_live = true},
        {.in = 3, .out = 2, .max_hidden = 20, .max_inputs = 9, .delayed = 0.2F}};
    return all;
}

/// Whether the first instruction of a bytecode lies inside it and a capacity.
bool first_fits(const std::vector<std::int32_t>& words, const BytecodeCapacity& capacity) {
    const auto* instruction = reinterpret_cast<const BytecodeInstruction*>(words.data());
    return fits(*instruction, static_cast<std::int64_t>(words.size()), capacity);
}

TEST(NeuronBytecode, EqualsTheGraphOfRandomNetworks) {
    const auto backend = make_cpu_backend({.math = Math::strict});
    std::size_t finite = 0;
    for (const NeuronDraw& draw : draws())
        for (std::uint64_t i = 0; i < 120; ++i) {
            const Genome genome = random_neuron_genome(draw, i);
            const Tensor x = some_inputs(rows_of_all_sizes(i), 3);
            const Tensor expected = graph_outputs(*backend, genome, x);
            EXPECT_EQ(different(expected, bytecode_outputs(*backend, genome, x)), 0U) << i;
            finite += all_finite(expected) ? 1U : 0U;
        }
    EXPECT_GT(finite, 720U);
}

TEST(NeuronBytecode, EqualsTheGraphOnTheReferenceBackend) {
    const auto cpu = make_cpu_backend({.math = Math::fast});
    const auto exact = make_reference_backend(Precision::f64);
    const auto single = make_reference_backend(Precision::f32);
    for (const NeuronDraw& draw : draws())
        for (std::uint64_t i = 0; i < 30; ++i) {
            const Genome genome = random_neuron_genome(draw, 1000 + i);
            const Tensor x = some_inputs(5, 3);
            EXPECT_EQ(
                different(graph_outputs(*exact, genome, x), bytecode_outputs(*exact, genome, x)),
                0U);
            const Tensor expected = graph_outputs(*single, genome, x);
            EXPECT_EQ(different(expected, bytecode_outputs(*single, genome, x)), 0U);
            EXPECT_EQ(different(expected, bytecode_outputs(*cpu, genome, x)), 0U);
        }
}

TEST(NeuronBytecode, StandsBesideOtherLayers) {
    const auto backend = make_cpu_backend({.math = Math::strict});
    for (std::uint64_t i = 0; i < 20; ++i) {
        RandomStream rng(random_key(29, "test.neurons"), i);
        Blueprint blueprint;
        blueprint.input_features = 3;
        blueprint.output_features = 2;
        blueprint.grid.layers_per_cell = 3;
        NeuronDraw draw{.in = 5, .out = 6, .every_function = true, .delayed = 0.2F};
        blueprint.slots.emplace_back(Slot{.layer = Dense{.in = 3, .out = 5}});
        blueprint.slots.emplace_back(Slot{.layer = test::random_neurons(draw, rng)});
        draw.in = 6;
        draw.continuous = true;
        blueprint.slots.emplace_back(Slot{.layer = test::random_neurons(draw, rng)});
        blueprint.head = Dense{.in = 6, .out = 2};
        const Genome genome = founder(blueprint, i);
        const Tensor x = some_inputs(6, 3);
        EXPECT_EQ(
            different(graph_outputs(*backend, genome, x), bytecode_outputs(*backend, genome, x)),
            0U);
    }
}

TEST(NeuronBytecode, TakesRoomForWhatIsAlive) {
    const auto words = [](const Neurons& layer) {
        Blueprint blueprint;
        blueprint.input_features = layer.in;
        blueprint.output_features = layer.out;
        blueprint.slots.resize(1);
        blueprint.head = layer;
        std::vector<std::int32_t> bytecode;
        std::vector<BytecodePacking> packings;
        return BytecodeWriter().write(blueprint, bytecode, packings);
    };
    Neurons layer = *Neurons::fitted({6}, {2});
    const BytecodeCapacity before = words(layer);
    EXPECT_EQ(before.weights, 2 * 8) << "a bias and six inputs each, filled up to eights";
    layer.neurons.resize(100);
    for (std::int64_t i = 2; i < 100; ++i) layer.connections.push_back({.source = 0, .target = i});
    for (std::int64_t i = 2; i < 100; ++i)
        layer.connections.push_back({.source = layer.in + i, .target = 0, .enabled = false});
    EXPECT_EQ(words(layer), before) << "neurons that no output depends on";
    layer.connections.back().enabled = true;
    EXPECT_EQ(words(layer).weights, before.weights + NeuronTable::record_unit);
}

TEST(NeuronBytecode, ATableThatReachesOutOfItsPlaceIsRefused) {
    const Genome genome = random_neuron_genome(draws()[1], 3);
    std::vector<std::int32_t> words;
    std::vector<BytecodePacking> packings;
    const BytecodeCapacity capacity = BytecodeWriter().write(genome.blueprint, words, packings);
    const auto fit = [&](const std::vector<std::int32_t>& changed) {
        return first_fits(changed, capacity);
    };
    ASSERT_EQ(static_cast<BytecodeOp>(words[0]), BytecodeOp::neurons);
    ASSERT_TRUE(fit(words));
    // Not what fills up, nor what makes a number of inputs or an op of the last instruction.
    const std::size_t table_end = static_cast<std::size_t>(bytecode_instruction_words + words[7]);
    std::size_t refused = 0;
    for (std::size_t i = 0; i < table_end; ++i)
        for (const std::int32_t wrong : {-1, 1 << 30}) {
            std::vector<std::int32_t> changed = words;
            changed[i] = wrong;
            if (!fit(changed)) ++refused;
        }
    EXPECT_GT(refused, 2 * table_end - 24);
}

TEST(NeuronBytecode, ANeuronThatJoinsWhatIsNotLikeItIsRefused) {
    Genome genome = random_neuron_genome(draws()[1], 3);
    auto& layer = std::get<Neurons>(genome.blueprint.head.variant());
    layer = *Neurons::fitted({2}, {3});
    std::vector<std::int32_t> words;
    std::vector<BytecodePacking> packings;
    BytecodeCapacity capacity = BytecodeWriter().write(genome.blueprint, words, packings);
    capacity.neurons = NeuronSet::any;
    const auto fit = [&] { return first_fits(words, capacity); };
    constexpr std::size_t first = bytecode_instruction_words + NeuronTable::head_words;
    constexpr std::size_t record = 4;
    constexpr auto joins = static_cast<std::int32_t>(NeuronTable::joins_mark);
    EXPECT_NE(words[first] & joins, 0);
    EXPECT_NE(words[first + record] & joins, 0);
    EXPECT_EQ(words[first + 2 * record] & joins, 0);
    ASSERT_TRUE(fit());
    words[first + record] ^= 1 << 16;
    EXPECT_FALSE(fit()) << "another activation";
    words[first + record] ^= 1 << 16;
    words[first + record] ^= 1 << 24;
    EXPECT_FALSE(fit()) << "another aggregation";
    words[first + record] ^= 1 << 24;
    words[first + 2 * record] |= joins;
    EXPECT_FALSE(fit()) << "nothing to join";
}

TEST(NeuronBytecode, WhatIsNoPairOfHalvesOrOutsideTheSetIsRefused) {
    Genome genome = random_neuron_genome(draws()[1], 3);
    genome.blueprint.head = *Neurons::fitted({2}, {3});
    std::vector<std::int32_t> words;
    std::vector<BytecodePacking> packings;
    BytecodeCapacity capacity = BytecodeWriter().write(genome.blueprint, words, packings);
    const auto fit = [&] { return first_fits(words, capacity); };
    constexpr std::size_t first = bytecode_instruction_words + NeuronTable::head_words;
    constexpr std::size_t half = NeuronTable::record_unit / 2;
    constexpr auto mark = static_cast<std::int32_t>(NeuronTable::half_mark);
    EXPECT_NE(words[first] & mark, 0);
    EXPECT_NE(words[first + half] & mark, 0);
    EXPECT_EQ(words[first + 2 * half] & mark, 0) << "the third is alone";
    ASSERT_TRUE(fit());
    for (const std::size_t record : {first, first + half, first + 2 * half}) {
        words[record] ^= mark;
        EXPECT_FALSE(fit()) << record;
        words[record] ^= mark;
    }
    words[first] += static_cast<std::int32_t>(half);
    EXPECT_FALSE(fit()) << "more inputs than half an eight has";
    words[first] -= static_cast<std::int32_t>(half);
    ASSERT_TRUE(fit());
    EXPECT_EQ(capacity.neurons, NeuronSet::sums);
    capacity.neurons = NeuronSet::none;
    EXPECT_FALSE(fit());
    capacity.neurons = NeuronSet::sums;
    for (std::size_t record = first; record < first + 3 * half; record += half)
        words[record] += static_cast<std::int32_t>(NeuronAggregation::mean) << 24;
    EXPECT_FALSE(fit()) << "no sums";
    capacity.neurons = NeuronSet::any;
    EXPECT_TRUE(fit());
}

TEST(NeuronBytecode, WhatIsNoUnevenPairIsRefused) {
    Genome genome = random_neuron_genome(draws()[1], 3);
    // Of four inputs and of two.
    genome.blueprint.head = Neurons{.in = 2,
                                    .out = 2,
                                    .neurons = {{}, {}},
                                    .connections = {{.source = 0, .target = 0},
                                                    {.source = 1, .target = 0},
                                                    {.source = 0, .target = 0, .delay = 1},
                                                    {.source = 1, .target = 0, .delay = 1},
                                                    {.source = 0, .target = 1},
                                                    {.source = 1, .target = 1}}};
    std::vector<std::int32_t> words;
    std::vector<BytecodePacking> packings;
    BytecodeCapacity capacity = BytecodeWriter().write(genome.blueprint, words, packings);
    const auto fit = [&] { return first_fits(words, capacity); };
    constexpr std::size_t first = bytecode_instruction_words + NeuronTable::head_words;
    constexpr std::size_t second = first + 5;
    const std::int32_t head = words[first];
    const std::int32_t other_head = words[second];
    EXPECT_EQ(head & 0xFFFF, 4);
    EXPECT_EQ(other_head & 0xFFFF, 2);
    ASSERT_TRUE(fit());
    const auto changed_fits = [&](std::uint32_t changes, std::uint32_t other_changes) {
        words[first] = static_cast<std::int32_t>(static_cast<std::uint32_t>(head) ^ changes);
        words[second] =
            static_cast<std::int32_t>(static_cast<std::uint32_t>(other_head) ^ other_changes);
        const bool result = fit();
        words[first] = head;
        words[second] = other_head;
        return result;
    };
    constexpr std::uint32_t uneven = NeuronTable::uneven_mark;
    constexpr std::uint32_t half = NeuronTable::half_mark;
    EXPECT_TRUE(changed_fits(0, 2 ^ 1)) << "one input, and one that fills up";
    EXPECT_FALSE(changed_fits(uneven, 0));
    EXPECT_FALSE(changed_fits(0, uneven));
    EXPECT_FALSE(changed_fits(uneven, uneven)) << "four words each";
    EXPECT_FALSE(changed_fits(half, half));
    EXPECT_FALSE(changed_fits(0, half));
    EXPECT_FALSE(changed_fits(NeuronTable::joins_mark, 0));
    EXPECT_FALSE(changed_fits(4 ^ 3, 0)) << "three words, where five stand";
    EXPECT_FALSE(changed_fits(4 ^ 5, 0)) << "more inputs than words";
    EXPECT_FALSE(changed_fits(0, 2 ^ 3));
    capacity.neurons = NeuronSet::any;
    EXPECT_TRUE(fit());
    constexpr std::uint32_t product = 1U << 24U;
    EXPECT_FALSE(changed_fits(product, product)) << "only sums are uneven";
    EXPECT_TRUE(fit());
}

TEST(NeuronBytecode, NeuronsThatNoOutputDependsOnNeedNoKernel) {
    Genome genome = random_neuron_genome(draws()[1], 3);
    Neurons layer = *Neurons::fitted({2}, {3});
    layer.plastic = true;
    layer.neurons.push_back({.activation = NeuronActivation::sin});
    layer.connections.push_back({.source = 0, .target = 3, .plastic = true});
    const auto set = [&] {
        genome.blueprint.head = layer;
        std::vector<std::int32_t> words;
        std::vector<BytecodePacking> packings;
        return BytecodeWriter().write(genome.blueprint, words, packings).neurons;
    };
    EXPECT_EQ(set(), NeuronSet::sums);
    layer.connections.push_back({.source = layer.in + 3, .target = 0});
    EXPECT_EQ(set(), NeuronSet::plastic);
    layer.plastic = false;
    EXPECT_EQ(set(), NeuronSet::any);
}

/// The best and the mean number of programs that a population of different structures needs.
struct Found {
    std::vector<Evaluation> evaluations;
    std::int64_t compiled = 0;
};
Found evaluated(std::string_view task_text, const std::vector<Genome>& genomes, Family family,
                Math math) {
    const auto task = standard_tasks().make(nlohmann::json::parse(task_text), {});
    const auto backend = make_cpu_backend({.threads = 2, .math = math});
    Evaluator evaluator(*backend, *task, 5, family);
    const std::vector<const Genome*> all = pointers_to(genomes);
    Found found{.evaluations = evaluator.evaluate(all, {.round = 3})};
    found.compiled = static_cast<std::int64_t>(evaluator.counters().programs_compiled);
    return found;
}

std::vector<Genome> population(NeuronDraw draw, std::uint64_t count) {
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < count; ++i) {
        genomes.push_back(random_neuron_genome(draw, i / 2));
        // Pairs of one structure, some of them crowds that run in lanes.
        for (float& weight : genomes.back().weights) weight *= i % 2 == 0 ? 1.0F : 0.9F;
    }
    return genomes;
}

void expect_equal_families(std::string_view task, const std::vector<Genome>& genomes) {
    const Found graphs = evaluated(task, genomes, Family::graph, Math::strict);
    for (const Math math : {Math::strict, Math::fast}) {
        const Found data = evaluated(task, genomes, Family::interpreted, math);
        for (std::size_t i = 0; i < genomes.size(); ++i) {
            EXPECT_EQ(data.evaluations[i].fitness, graphs.evaluations[i].fitness) << i;
            EXPECT_EQ(data.evaluations[i].per_sample, graphs.evaluations[i].per_sample) << i;
        }
        EXPECT_LE(data.compiled, 2);
    }
    EXPECT_GT(graphs.compiled, 10);
}

TEST(NeuronBytecode, SolvesRowsLikeTheGraphWithOneProgramForAll) {
    expect_equal_families(
        R"({"type": "xor"})",
        population({.in = 2, .out = 1, .max_hidden = 6, .every_function = true}, 60));
}

TEST(NeuronBytecode, SolvesManyRowsThatAllShareLikeTheGraph) {
    expect_equal_families(
        R"({"type": "parity", "bits": 8})",
        population({.in = 8, .out = 1, .max_hidden = 6, .every_function = true}, 30));
}

TEST(NeuronBytecode, BalancesLikeTheGraphWithOneProgramForAll) {
    expect_equal_families(R"({"type": "cart_pole", "episodes": 3, "steps": 60})",
                          population({.in = 4, .out = 2, .max_hidden = 12, .delayed = 0.2F}, 40));
}

TEST(NeuronBytecode, LearnsInAnEpisodeLikeTheGraph) {
    expect_equal_families(
        R"({"type": "cart_pole", "episodes": 3, "steps": 60})",
        population({.in = 4, .out = 2, .max_hidden = 12, .delayed = 0.2F, .plastic = 0.5F}, 40));
}

TEST(NeuronBytecode, ANetworkHasTheFitnessItHasAlone) {
    std::vector<Genome> genomes =
        population({.in = 4, .out = 2, .max_hidden = 5, .delayed = 0.2F, .plastic = 0.3F}, 12);
    // A crowd of equal structures among others.
    for (int i = 0; i < 12; ++i) {
        genomes.push_back(genomes.front());
        for (float& weight : genomes.back().weights) weight += 0.1F * static_cast<float>(i);
    }
    constexpr std::string_view task = R"({"type": "cart_pole", "episodes": 5, "steps": 100})";
    const Found together = evaluated(task, genomes, Family::interpreted, Math::fast);
    for (std::size_t i = 0; i < genomes.size(); ++i) {
        const Found alone = evaluated(task, {genomes[i]}, Family::interpreted, Math::fast);
        EXPECT_EQ(together.evaluations[i].fitness, alone.evaluations[0].fitness) << i;
        EXPECT_EQ(together.evaluations[i].per_sample, alone.evaluations[0].per_sample) << i;
    }
}

}  // namespace neuron_bytecode
}  // namespace cambrian::evolve::testing
