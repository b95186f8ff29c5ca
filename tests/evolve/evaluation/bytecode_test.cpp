#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/tests/evolve/support/bytecode_support.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/support/all_cases.hpp"

// A bytecode computes what the graph of the same network computes, in every bit.
namespace cambrian::evolve::testing {
namespace {

MutationSettings wild() {
    MutationSettings settings;
    settings.activation_rate = 0.3F;
    settings.layer_type_rate = 0.15F;
    settings.layer_insert_rate = 0.3F;
    settings.layer_toggle_rate = 0.15F;
    settings.link_add_rate = 0.5F;
    settings.link_drop_rate = 0.2F;
    settings.weight_replace_rate = 0.1F;
    settings.weight_power = 0.5F;
    settings.layer_types = {"dense", "rms_norm", "layer_norm", "softmax", "residual", "rnn"};
    settings.activations.push_back(Activation::mish);
    settings.activations.push_back(Activation::leaky_relu);
    return settings;
}

/// A grid with containers and free slots between them.
Blueprint contained() {
    return blueprint_from_json(
        nlohmann::json::parse(R"({"grid": {"rows": 2, "cols": 2, "layers_per_cell": 3}, "layers": [
        {"type": "dense", "out": 6, "bias": false, "activation": "gelu", "at": [0, 0, 0, 0]},
        {"type": "sequential", "at": [0, 0, 0, 2], "layers": [
            {"type": "rnn", "hidden": 5}, {"type": "dense", "out": 5, "activation": "silu"},
            {"type": "residual"}, {"type": "softmax"}, {"type": "dense", "out": 6}]},
        {"type": "residual", "at": [0, 0, 1, 1], "layers": [
            {"type": "layer_norm"}, {"type": "dense", "out": 9, "activation": "relu"},
            {"type": "dense", "activation": "sigmoid"}]},
        {"type": "residual", "at": [0, 1, 0, 0]},
        {"type": "rms_norm", "at": [0, 1, 1, 0]},
        {"type": "dense", "activation": "tanh"}]})"),
        3, 2);
}

/// Mutants of a founder, each the child of the one before; a new chain every few.
template <class Check>
void for_each_mutant(const Blueprint& start, std::uint64_t chains, std::uint64_t length,
                     const Check& check) {
    for (std::uint64_t chain = 0; chain < chains; ++chain) {
        Genome genome = founder(start, chain);
        for (std::uint64_t step = 0; step < length; ++step) {
            const std::uint64_t birth = chain * length + step + 1;
            RandomStream rng(random_key(11, "test.mutants"), birth);
            genome = mutate(rng, wild(), {.time = true}, std::move(genome), birth).genome;
            check(genome, birth);
        }
    }
}

std::unique_ptr<Backend> strict_backend() {
    return make_cpu_backend({.math = Math::strict});
}

TEST(Bytecode, EqualsTheGraphForMutantsOfManyStructures) {
    const auto backend = strict_backend();
    const std::uint64_t lineages = test::all_cases() ? 250 : 60;
    std::size_t wrong = 0;
    std::size_t finite = 0;
    for (const Blueprint& start : {mixed_blueprint(), contained()}) {
        for_each_mutant(start, lineages, 20, [&](const Genome& genome, std::uint64_t birth) {
            const Tensor x = some_inputs(rows_of_all_sizes(birth), 3);
            const Tensor expected = graph_outputs(*backend, genome, x);
            wrong += different(expected, bytecode_outputs(*backend, genome, x));
            finite += all_finite(expected) ? 1U : 0U;
        });
    }
    EXPECT_EQ(wrong, 0U);
    EXPECT_GT(finite, 32 * lineages);
}

TEST(Bytecode, EqualsTheGraphOnTheReferenceBackend) {
    for (const Precision precision : {Precision::f32, Precision::f64}) {
        const auto backend = make_reference_backend(precision);
        for_each_mutant(contained(), 2, 20, [&](const Genome& genome, std::uint64_t) {
            const Tensor x = some_inputs(3, 3);
            EXPECT_EQ(different(graph_outputs(*backend, genome, x),
                                bytecode_outputs(*backend, genome, x)),
                      0U);
        });
    }
}

TEST(Bytecode, ReferenceAndCpuBackendAgreeInEveryBit) {
    const auto cpu = strict_backend();
    const auto reference = make_reference_backend(Precision::f32);
    for_each_mutant(contained(), 2, 20, [&](const Genome& genome, std::uint64_t) {
        const Tensor x = some_inputs(9, 3);
        EXPECT_EQ(
            different(bytecode_outputs(*cpu, genome, x), bytecode_outputs(*reference, genome, x)),
            0U);
    });
}

TEST(Bytecode, FastAndStrictMathGiveTheSameBits) {
    const auto strict = strict_backend();
    const auto fast = make_cpu_backend({.math = Math::fast});
    const Genome genome = founder(contained());
    const Tensor x = some_inputs(7, 3);
    EXPECT_EQ(different(bytecode_outputs(*strict, genome, x), bytecode_outputs(*fast, genome, x)),
              0U);
}

TEST(Bytecode, RowsDoNotSeeEachOther) {
    const auto backend = strict_backend();
    const Genome genome = founder(contained());
    const Tensor all = some_inputs(13, 3);
    const Tensor together = bytecode_outputs(*backend, genome, all);
    for (std::int64_t rows = 1; rows < 13; ++rows) {
        Tensor x(ValueType::real, Shape{rows, time_steps, 3});
        std::copy_n(all.elements.begin(), x.elements.size(), x.elements.begin());
        const Tensor alone = bytecode_outputs(*backend, genome, x);
        EXPECT_TRUE(
            std::equal(alone.elements.begin(), alone.elements.end(), together.elements.begin()));
    }
}

TEST(Bytecode, AnyLargerCapacityGivesTheSame) {
    const auto backend = strict_backend();
    const Genome genome = founder(contained());
    const Tensor x = some_inputs(5, 3);
    const BytecodeCapacity larger{.words = 1000, .weights = 5000, .state = 77, .memory = 333};
    EXPECT_EQ(different(bytecode_outputs(*backend, genome, x),
                        bytecode_outputs(*backend, genome, x, larger)),
              0U);
}

TEST(Bytecode, EveryInstructionFitsWhatTheBytecodeSaysItNeeds) {
    BytecodeWriter writer;
    std::set<BytecodeOp> seen;
    for_each_mutant(contained(), 10, 20, [&](const Genome& genome, std::uint64_t) {
        std::vector<std::int32_t> words;
        std::vector<BytecodePacking> packings;
        const BytecodeCapacity capacity = writer.write(genome.blueprint, words, packings);
        ASSERT_EQ(static_cast<std::size_t>(capacity.words), words.size());
        for (std::size_t i = 0; i < words.size(); i += bytecode_instruction_words) {
            const BytecodeInstruction instruction{static_cast<BytecodeOp>(words[i]),
                                                  words[i + 1],
                                                  words[i + 2],
                                                  words[i + 3],
                                                  words[i + 4],
                                                  words[i + 5],
                                                  words[i + 6],
                                                  words[i + 7]};
            ASSERT_TRUE(fits(instruction, bytecode_instruction_words, capacity))
                << op_info(instruction.op).name;
            seen.insert(instruction.op);
            const bool last = i + bytecode_instruction_words == words.size();
            ASSERT_EQ(instruction.op == BytecodeOp::end, last);
        }
    });
    EXPECT_EQ(seen.size(), bytecode_op_count - 1) << "all but neurons (neuron_bytecode_test.cpp)";
}

TEST(Bytecode, MemoryIsUsedAgain) {
    nlohmann::json layers;
    for (int i = 0; i < 20; ++i)
        layers.push_back({{"type", "dense"}, {"out", 16}, {"activation", "relu"}});
    layers.push_back({{"type", "dense"}});
    const Network network(blueprint_from_json({{"layers", layers}}, 4, 2));
    EXPECT_LE(make_bytecode(network).capacity.memory, 4 + 2 * 16);
}

TEST(Bytecode, DisabledSlotsLeaveTheBytecode) {
    Genome genome = founder(mixed_blueprint());
    const std::int64_t whole = make_bytecode(Network(genome.blueprint)).capacity.words;
    genome.blueprint.slots[2]->enabled = false;
    EXPECT_EQ(make_bytecode(Network(genome.blueprint)).capacity.words,
              whole - bytecode_instruction_words);
}

TEST(BytecodeCapacity, RoundsToFewSizes) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t weights = 1; weights <= 65536; ++weights) {
        const BytecodeCapacity rounded =
            BytecodeCapacity{.words = 8, .weights = weights, .state = 0, .memory = 4}.rounded();
        ASSERT_GE(rounded.weights, weights);
        ASSERT_EQ(rounded.weights % 4, 0);
        ASSERT_EQ(rounded.rounded(), rounded);
        if (sizes.empty() || sizes.back() != rounded.weights) sizes.push_back(rounded.weights);
    }
    EXPECT_LE(sizes.size(), 17U);
    EXPECT_EQ((BytecodeCapacity{.words = 8, .weights = 4, .state = 0, .memory = 4}.rounded().state),
              0);
}

}  // namespace
}  // namespace cambrian::evolve::testing
