#include "cambrian/evolve/evaluation/family.hpp"

#include <algorithm>
#include <cmath>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve::family_test {
namespace {

constexpr std::string_view small =
    R"({"layers": [{"type": "dense", "out": 5, "activation": "tanh"}, {"type": "dense"}],
        "grid": {"layers_per_cell": 6}})";
constexpr std::string_view recurrent =
    R"({"layers": [{"type": "rnn", "hidden": 4}, {"type": "rms_norm"}, {"type": "dense"}],
        "grid": {"layers_per_cell": 6}})";
constexpr std::string_view cart_pole =
    R"({"type": "cart_pole", "episodes": 3, "steps": 60, "validation": {"episodes": 9}})";

/// @param every whether all types of layers may occur, or those that are interpreted.
MutationSettings often(bool every = false) {
    MutationSettings settings;
    settings.layer_type_rate = 0.2F;
    settings.layer_insert_rate = 0.5F;
    settings.layer_toggle_rate = 0.2F;
    settings.link_add_rate = 0.6F;
    settings.activation_rate = 0.2F;
    settings.layer_types = {"dense", "rms_norm", "layer_norm", "residual", "rnn"};
    if (every) settings.layer_types.assign(layer_types().begin(), layer_types().end());
    return settings;
}

/// Mutants of many structures, some of each generation of a chain.
std::vector<Genome> mutants(const Task& task, std::string_view network, std::uint64_t count,
                            bool every = false) {
    std::vector<Genome> result;
    for (std::uint64_t i = 0; i < count; ++i) {
        Genome genome = testing::genome_for(task, network, i);
        RandomStream rng(random_key(4, "test.family"), i);
        for (std::uint64_t birth = 1; birth <= 1 + i % 8; ++birth)
            genome =
                mutate(rng, often(every), {.time = task.signature().time}, std::move(genome), birth)
                    .genome;
        result.push_back(std::move(genome));
    }
    return result;
}

std::vector<const Genome*> pointers(const std::vector<Genome>& genomes) {
    std::vector<const Genome*> result;
    for (const Genome& genome : genomes) result.push_back(&genome);
    return result;
}

void expect_same(const std::vector<Evaluation>& a, const std::vector<Evaluation>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].status, b[i].status) << i;
        EXPECT_EQ(a[i].fitness, b[i].fitness) << i;
        EXPECT_EQ(a[i].per_sample, b[i].per_sample) << i;
        EXPECT_EQ(a[i].env_steps, b[i].env_steps) << i;
    }
}

/// Both families give equal evaluations, in strict math, on one thread and two.
void expect_equal_families(const Task& task, const std::vector<Genome>& genomes,
                           std::vector<Phase> phases = {Phase::train}) {
    const auto one = make_cpu_backend({.threads = 1, .math = Math::strict});
    const auto two = make_cpu_backend({.threads = 2, .math = Math::strict});
    Evaluator graphs(*one, task, 5, Family::graph);
    Evaluator interpreted(*two, task, 5, Family::interpreted);
    for (const Phase phase : phases)
        for (const std::uint64_t round : {3U, 4U}) {
            const EvaluationRound numbers{.phase = phase, .round = round};
            expect_same(interpreted.evaluate(pointers(genomes), numbers),
                        graphs.evaluate(pointers(genomes), numbers));
        }
    EXPECT_GT(graphs.counters().programs_compiled, 10U);
    EXPECT_LE(interpreted.counters().programs_compiled, 2 * phases.size());
}

TEST(Family, EqualOnXor) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    expect_equal_families(*task, mutants(*task, small, 150));
}

TEST(Family, EqualOnCartPole) {
    const auto task = testing::standard_task(cart_pole);
    std::vector<Genome> genomes = mutants(*task, small, 60);
    for (Genome& genome : mutants(*task, recurrent, 60)) genomes.push_back(std::move(genome));
    expect_equal_families(*task, genomes, {Phase::train, Phase::validation});
}

TEST(Family, NetworksThatTheInterpreterDoesNotKnowRunAsGraphsBesideOthers) {
    const auto task = testing::standard_task(cart_pole);
    const std::vector<Genome> genomes = mutants(*task, recurrent, 60, true);
    const auto backend = make_cpu_backend({.threads = 2, .math = Math::strict});
    Evaluator graphs(*backend, *task, 5, Family::graph);
    Evaluator interpreted(*backend, *task, 5, Family::interpreted);
    const EvaluationRound numbers{.phase = Phase::train, .round = 3};
    expect_same(interpreted.evaluate(pointers(genomes), numbers),
                graphs.evaluate(pointers(genomes), numbers));
    const auto unknown = std::ranges::count_if(
        genomes, [](const Genome& genome) { return !BytecodeWriter::can_write(genome.blueprint); });
    EXPECT_GT(unknown, 10);
    EXPECT_LT(unknown, 60);
}

TEST(Family, EqualOnSequencesAndRowsOfATable) {
    const testing::TemporaryFolder folder;
    std::string text = "a,b,y\n";
    for (int i = 0; i < 40; ++i)
        text += std::to_string(std::sin(i)) + "," + std::to_string(i % 7) + "," +
                std::to_string(std::cos(i * 0.7)) + "\n";
    folder.write("rows.csv", text);
    const auto make = [&](std::string_view keys) {
        return testing::standard_task(
            R"({"type": "table", "train": ["rows.csv"], )" + std::string(keys) + "}",
            folder.path());
    };
    const auto sequences = make(R"("targets": ["y"], "sequence_length": 8, "warm_up": 2)");
    expect_equal_families(*sequences, mutants(*sequences, recurrent, 60));
    const auto rows = make(R"("targets": ["y"], "loss": "mae")");
    expect_equal_families(*rows, mutants(*rows, small, 60));
}

TEST(Family, EqualForACallback) {
    const auto task = make_callback_task(3, 2, [](Population& population) {
        std::vector<double> fitness(population.size());
        for (const std::int64_t batch : {1, 3, 11}) {
            std::vector<float> rows(static_cast<std::size_t>(3 * batch));
            for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<float>(i));
            const std::vector<float> outputs = population.outputs(rows, batch);
            const std::size_t width = outputs.size() / fitness.size();
            for (std::size_t i = 0; i < outputs.size(); ++i)
                fitness[i / width] += static_cast<double>(outputs[i]);
        }
        return fitness;
    });
    const std::vector<Genome> genomes = mutants(*task, recurrent, 80);
    const auto backend = make_cpu_backend({.math = Math::strict});
    Evaluator graphs(*backend, *task, 1, Family::graph);
    Evaluator interpreted(*backend, *task, 1, Family::interpreted);
    expect_same(interpreted.evaluate(pointers(genomes), {}),
                graphs.evaluate(pointers(genomes), {}));
}

TEST(Family, InterpretedAgreesWithTheReferenceBackend) {
    const auto task = testing::standard_task(
        R"({"type": "cart_pole", "episodes": 2, "steps": 20, "validation": {"episodes": 2}})");
    const std::vector<Genome> genomes = mutants(*task, recurrent, 20);
    const auto cpu = make_cpu_backend({.math = Math::strict});
    const auto reference = make_reference_backend(Precision::f32);
    expect_same(
        Evaluator(*cpu, *task, 1, Family::interpreted).evaluate(pointers(genomes), {}),
        Evaluator(*reference, *task, 1, Family::interpreted).evaluate(pointers(genomes), {}));
}

TEST(Family, NothingIsCompiledWhileStructuresMutate) {
    const auto task = testing::standard_task(cart_pole);
    const auto backend = make_cpu_backend({});
    Evaluator evaluator(*backend, *task, 1, Family::interpreted);
    std::vector<Genome> genomes = mutants(*task, small, 50);
    (void)evaluator.evaluate(pointers(genomes), {});
    const std::uint64_t warm = evaluator.counters().programs_compiled;
    for (std::uint64_t round = 1; round <= 20; ++round) {
        for (std::uint64_t i = 0; i < genomes.size(); ++i) {
            RandomStream rng(random_key(round, "test.family"), i);
            genomes[i] =
                mutate(rng, MutationSettings(), {.time = true}, std::move(genomes[i]), round)
                    .genome;
        }
        (void)evaluator.evaluate(pointers(genomes), {.round = round});
    }
    // For networks without state and with it.
    EXPECT_EQ(warm, 2U);
    // A capacity that grew costs one program; structures cost none.
    EXPECT_LE(evaluator.counters().programs_compiled, 3U);
    EXPECT_GE(evaluator.counters().programs_reused, 20U);
}

TEST(Family, BatchAndOrderDoNotMatter) {
    const auto task = testing::standard_task(cart_pole);
    const std::vector<Genome> genomes = mutants(*task, recurrent, 40);
    const auto backend = make_cpu_backend({});
    Evaluator evaluator(*backend, *task, 9, Family::interpreted);
    const auto together = evaluator.evaluate(pointers(genomes), {});
    std::vector<const Genome*> reversed = pointers(genomes);
    std::reverse(reversed.begin(), reversed.end());
    std::vector<Evaluation> backwards = evaluator.evaluate(reversed, {});
    std::reverse(backwards.begin(), backwards.end());
    expect_same(backwards, together);
    std::vector<Evaluation> alone;
    for (const Genome& genome : genomes) {
        const std::array<const Genome*, 1> one{&genome};
        alone.push_back(
            Evaluator(*backend, *task, 9, Family::interpreted).evaluate(one, {}).front());
    }
    expect_same(alone, together);
}

/// Beside small networks, with state and without: one of each class of size, and one that no class
/// takes.
TEST(Family, LargeNetworksRunInClassesOrAsGraphs) {
    const auto task = testing::standard_task(cart_pole);
    std::vector<Genome> genomes = mutants(*task, small, 20);
    for (const int width : {40, 100, 300})
        for (std::uint64_t i = 0; i < 3; ++i)
            genomes.insert(genomes.begin(),
                           testing::genome_for(*task,
                                               R"({"layers": [{"type": "dense", "out": )" +
                                                   std::to_string(width) +
                                                   R"(, "activation": "silu"}, {"type": "dense",
                                                   "out": 100}, {"type": "dense"}]})",
                                               i));
    const auto backend = make_cpu_backend({.math = Math::strict});
    Evaluator graphs(*backend, *task, 1, Family::graph);
    Evaluator interpreted(*backend, *task, 1, Family::interpreted);
    expect_same(interpreted.evaluate(pointers(genomes), {}),
                graphs.evaluate(pointers(genomes), {}));
    EXPECT_EQ(interpreted.counters().programs_compiled, 5U);
}

TEST(Family, NetworksWithoutWeightsAreInterpretedToo) {
    const auto task = make_callback_task(3, 3, [](Population& population) {
        const std::vector<float> outputs = population.outputs(std::vector<float>{1, 2, 3}, 1);
        std::vector<double> largest;
        for (std::size_t i = 0; i < population.size(); ++i)
            largest.push_back(static_cast<double>(outputs[3 * i + 2]));
        return largest;
    });
    const Genome bare = testing::genome_for(*task, R"({"layers": [{"type": "softmax"}]})", 1);
    ASSERT_TRUE(bare.weights.empty());
    const auto backend = make_cpu_backend({.math = Math::strict});
    for (const std::uint64_t others : {0U, 3U}) {
        std::vector<Genome> genomes = mutants(*task, small, others);
        genomes.push_back(bare);
        Evaluator graphs(*backend, *task, 1, Family::graph);
        Evaluator interpreted(*backend, *task, 1, Family::interpreted);
        const auto evaluations = interpreted.evaluate(pointers(genomes), {});
        expect_same(evaluations, graphs.evaluate(pointers(genomes), {}));
        EXPECT_NEAR(evaluations.back().fitness, 0.66524096, 1e-6);
    }
}

TEST(Family, StaysUnderTheMemoryLimit) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    const std::vector<Genome> genomes = mutants(*task, small, 2000);
    constexpr std::int64_t limit = 512 * 1024;
    const auto little = make_cpu_backend({.math = Math::strict, .memory_limit = limit});
    const auto plenty = make_cpu_backend({.math = Math::strict});
    Evaluator in_parts(*little, *task, 1, Family::interpreted);
    Evaluator at_once(*plenty, *task, 1, Family::interpreted);
    expect_same(in_parts.evaluate(pointers(genomes), {}), at_once.evaluate(pointers(genomes), {}));
    EXPECT_LE(little->memory().used, limit);
    EXPECT_GT(in_parts.counters().memory_splits, 0U);
    EXPECT_EQ(at_once.counters().memory_splits, 0U);
}

TEST(Family, SteadyWorkAllocatesNothing) {
    const auto task = testing::standard_task(cart_pole);
    const std::vector<Genome> genomes = mutants(*task, recurrent, 100);
    const auto backend = make_cpu_backend({});
    Evaluator evaluator(*backend, *task, 1, Family::interpreted);
    (void)evaluator.evaluate(pointers(genomes), {});
    const std::int64_t used = backend->memory().used;
    for (std::uint64_t round = 1; round < 5; ++round)
        (void)evaluator.evaluate(pointers(genomes), {.round = round});
    EXPECT_EQ(backend->memory().used, used);
}

TEST(Family, AutoFollowsTheStructuralRates) {
    MutationSettings fixed;
    fixed.layer_type_rate = fixed.layer_insert_rate = 0.0F;
    fixed.link_add_rate = fixed.link_drop_rate = 0.0F;
    EXPECT_EQ(family_of(FamilyChoice::automatic, fixed), Family::graph);
    EXPECT_EQ(family_of(FamilyChoice::interpreted, fixed), Family::interpreted);
    EXPECT_EQ(family_of(FamilyChoice::graph, MutationSettings()), Family::graph);
    for (float MutationSettings::*rate :
         {&MutationSettings::layer_type_rate, &MutationSettings::layer_insert_rate,
          &MutationSettings::link_add_rate, &MutationSettings::link_drop_rate,
          &MutationSettings::layer_remove_rate, &MutationSettings::layer_widen_rate,
          &MutationSettings::layer_deepen_rate, &MutationSettings::layer_field_rate}) {
        MutationSettings one = fixed;
        one.*rate = 0.01F;
        EXPECT_EQ(family_of(FamilyChoice::automatic, one), Family::interpreted);
    }
}

}  // namespace
}  // namespace cambrian::evolve::family_test
