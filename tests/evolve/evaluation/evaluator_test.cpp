#include "cambrian/evolve/evaluation/evaluator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/evaluation/program_cache.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using testing::pointers_to;

constexpr std::array<std::string_view, 4> networks{
    R"({"layers": [{"type": "dense"}]})",
    R"({"layers": [{"type": "dense", "out": 5, "activation": "relu"}, {"type": "dense"}]})",
    R"({"layers": [{"type": "dense", "out": 6, "activation": "silu"}, {"type": "rms_norm"},
                   {"type": "dense"}]})",
    R"({"layers": [{"type": "rnn", "hidden": 4}, {"type": "dense"}]})",
};

constexpr std::string_view cart_pole =
    R"({"type": "cart_pole", "episodes": 3, "steps": 40, "validation": {"episodes": 4}})";

std::vector<Genome> some_genomes(const Task& task, std::size_t count, std::size_t structures) {
    std::vector<Genome> result;
    for (std::size_t i = 0; i < count; ++i) {
        result.push_back(testing::genome_for(task, networks[i % structures], i));
        // Activations differ inside a structure, and must not split it.
        for (auto& slot : result.back().blueprint.slots)
            if (slot)
                for (Activation* gene : slot->layer.activations())
                    *gene = static_cast<Activation>(i % 5);
    }
    return result;
}

void expect_same(const Evaluation& a, const Evaluation& b) {
    EXPECT_EQ(a.status, b.status);
    EXPECT_EQ(a.fitness, b.fitness);
    EXPECT_EQ(a.per_sample, b.per_sample);
    EXPECT_EQ(a.env_steps, b.env_steps);
}

TEST(Evaluator, FitnessDoesNotDependOnTheBatch) {
    const auto task = testing::standard_task(cart_pole);
    const std::vector<Genome> genomes = some_genomes(*task, 100, networks.size());
    const EvaluationRound round{.phase = Phase::train, .round = 3};
    std::vector<Evaluation> first;
    for (const int threads : {1, 2}) {
        const auto backend = make_cpu_backend({.threads = threads});
        Evaluator evaluator(*backend, *task, 9);
        const auto together = evaluator.evaluate(pointers_to(genomes), round);
        if (first.empty()) first = together;

        std::vector<const Genome*> reversed = pointers_to(genomes);
        std::reverse(reversed.begin(), reversed.end());
        const auto backwards = evaluator.evaluate(reversed, round);
        for (std::size_t i = 0; i < genomes.size(); ++i) {
            expect_same(together[i], first[i]);
            expect_same(backwards[genomes.size() - 1 - i], first[i]);
        }
        for (const std::size_t i : {0U, 1U, 2U, 3U, 50U, 99U})
            expect_same(testing::evaluate_one(*backend, *task, genomes[i], round, 9), first[i]);
    }
}

TEST(Evaluator, MutatedNetworksOfAnyStructureShareABatch) {
    const auto task = testing::standard_task(cart_pole);
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < 60; ++i) {
        genomes.push_back(testing::genome_for(
            *task,
            R"({"layers": [{"type": "dense", "out": 4, "activation": "tanh"}, {"type": "dense"}],
                "grid": {"layers_per_cell": 4}})",
            i));
        RandomStream rng(random_key(2, "test.mutate"), i);
        MutationSettings often;
        often.layer_type_rate = 0.3F;
        often.layer_insert_rate = 0.6F;
        often.layer_toggle_rate = 0.3F;
        often.link_add_rate = 0.6F;
        for (std::uint64_t birth = 1; birth < 6; ++birth)
            genomes.back() =
                mutate(rng, often, {.time = true}, std::move(genomes.back()), birth).genome;
    }
    const auto backend = make_cpu_backend({});
    Evaluator evaluator(*backend, *task, 9);
    const auto together = evaluator.evaluate(pointers_to(genomes), {});
    EXPECT_GT(evaluator.counters().programs_compiled, 10U);
    for (std::size_t i = 0; i < genomes.size(); ++i)
        expect_same(together[i], testing::evaluate_one(*backend, *task, genomes[i], {}, 9));
}

TEST(Evaluator, AgreesWithTheReferenceBackend) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    const std::vector<Genome> genomes = some_genomes(*task, 30, 3);
    const auto cpu = make_cpu_backend({});
    const auto reference = make_reference_backend(Precision::f64);
    const auto fast = Evaluator(*cpu, *task, 1).evaluate(pointers_to(genomes), {});
    const auto exact = Evaluator(*reference, *task, 1).evaluate(pointers_to(genomes), {});
    for (std::size_t i = 0; i < genomes.size(); ++i)
        EXPECT_NEAR(fast[i].fitness, exact[i].fitness, 1e-4 * (1.0 + std::abs(exact[i].fitness)));
}

TEST(Evaluator, CompilesEachStructureOnce) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    const std::vector<Genome> genomes = some_genomes(*task, 60, 3);
    const auto backend = make_cpu_backend({});
    Evaluator evaluator(*backend, *task, 1);
    for (std::uint64_t round = 0; round < 4; ++round)
        (void)evaluator.evaluate(pointers_to(genomes), {.phase = Phase::train, .round = round});
    EXPECT_EQ(evaluator.counters().programs_compiled, 3U);
    EXPECT_GE(evaluator.counters().programs_reused, 9U);
}

TEST(Evaluator, DisabledSlotsShareTheProgram) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    std::vector<Genome> genomes(2, testing::genome_for(*task, networks[2]));
    genomes[1].blueprint.slots[1]->enabled = false;
    const auto backend = make_cpu_backend({});
    Evaluator evaluator(*backend, *task, 1);
    const auto results = evaluator.evaluate(pointers_to(genomes), {});
    EXPECT_EQ(evaluator.counters().programs_compiled, 1U);
    EXPECT_NE(results[0].fitness, results[1].fitness);
}

TEST(Evaluator, SteadyWorkAllocatesNothing) {
    const auto task = testing::standard_task(cart_pole);
    const std::vector<Genome> genomes = some_genomes(*task, 40, networks.size());
    const auto backend = make_cpu_backend({});
    Evaluator evaluator(*backend, *task, 1);
    (void)evaluator.evaluate(pointers_to(genomes), {.phase = Phase::train, .round = 0});
    const auto used = backend->memory().used;
    for (std::uint64_t round = 1; round < 5; ++round) {
        (void)evaluator.evaluate(pointers_to(genomes), {.phase = Phase::train, .round = round});
        EXPECT_EQ(backend->memory().used, used);
    }
}

TEST(Evaluator, StaysUnderTheMemoryLimit) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    const std::vector<Genome> genomes = some_genomes(*task, 3000, 3);
    const auto plenty = make_cpu_backend({});
    constexpr std::int64_t limit = 256 * 1024;
    const auto little = make_cpu_backend({.memory_limit = limit});
    const auto expected = Evaluator(*plenty, *task, 1).evaluate(pointers_to(genomes), {});
    Evaluator evaluator(*little, *task, 1);
    const auto found = evaluator.evaluate(pointers_to(genomes), {});
    for (std::size_t i = 0; i < genomes.size(); ++i) expect_same(found[i], expected[i]);
    EXPECT_LE(little->memory().used, limit);
}

TEST(Evaluator, OvercomesAShortageInHalves) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    const std::vector<Genome> genomes = some_genomes(*task, 30, 3);
    const auto plenty = make_cpu_backend({});
    const auto expected = Evaluator(*plenty, *task, 1).evaluate(pointers_to(genomes), {});
    for (const int first : {1, 4}) {
        int asked = 0;
        // Refused once, and when it is tried again.
        const auto short_once = make_cpu_backend(
            {.refuse_memory = [&] { return ++asked == first || asked == first + 1; }});
        Evaluator evaluator(*short_once, *task, 1);
        const auto found = evaluator.evaluate(pointers_to(genomes), {});
        for (std::size_t i = 0; i < genomes.size(); ++i) expect_same(found[i], expected[i]);
        EXPECT_EQ(evaluator.counters().memory_splits, 1U);
    }
}

TEST(Evaluator, DataThatDoesNotFitIsTheSameErrorEveryTime) {
    const testing::TemporaryFolder folder;
    std::string text = "a,y\n";
    for (int row = 0; row < 1000; ++row) text += "1,2\n";
    folder.write("rows.csv", text);
    const auto task = testing::standard_task(
        R"({"type": "table", "train": ["rows.csv"], "targets": ["y"], "normalise": "none"})",
        folder.path());
    const Genome genome = testing::genome_for(*task, networks[0]);
    const std::array<const Genome*, 1> genomes{&genome};
    const auto little = make_cpu_backend({.memory_limit = 6000});  // the inputs, not the targets
    Evaluator evaluator(*little, *task, 1);
    for (int attempt = 0; attempt < 2; ++attempt) {
        EXPECT_THROW((void)evaluator.evaluate(genomes, {}), OutOfMemoryError);
        EXPECT_EQ(little->memory().used, 0);
    }
}

TEST(Evaluator, NonFiniteFitnessIsTheWorst) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    std::vector<Genome> genomes = some_genomes(*task, 3, 1);
    genomes[1].weights[0] = std::numeric_limits<float>::max();
    genomes[1].weights[1] = std::numeric_limits<float>::max();
    const auto backend = make_cpu_backend({});
    const auto results = Evaluator(*backend, *task, 1).evaluate(pointers_to(genomes), {});
    EXPECT_EQ(results[0].status, Status::ok);
    EXPECT_EQ(results[1].status, Status::non_finite);
    EXPECT_EQ(results[1].fitness, worst_fitness);
    EXPECT_TRUE(results[1].per_sample.empty());
    EXPECT_EQ(results[2].status, Status::ok);
}

TEST(Evaluator, EpisodesAreCommonToAllAndFreshForEachRound) {
    const auto task = testing::standard_task(cart_pole);
    // Always pushes left: when the pole falls is a matter of its start.
    Genome genome = testing::genome_for(*task, networks[0]);
    std::fill(genome.weights.begin(), genome.weights.end(), 0.0F);
    const std::vector<Genome> genomes(5, genome);
    const auto backend = make_cpu_backend({});
    Evaluator evaluator(*backend, *task, 1);
    std::vector<std::vector<double>> rounds;
    for (std::uint64_t round = 0; round < 12; ++round) {
        const auto results =
            evaluator.evaluate(pointers_to(genomes), {.phase = Phase::train, .round = round});
        for (const Evaluation& result : results) expect_same(result, results[0]);
        rounds.push_back(results[0].per_sample);
    }
    EXPECT_NE(std::vector(11, rounds[0]), std::vector(rounds.begin() + 1, rounds.end()));
}

TEST(Evaluator, NoTwoRoundsPhasesOrSeedsHaveTheSameEpisodes) {
    const auto task = testing::standard_task(cart_pole);
    std::set<std::vector<double>> starts;
    std::size_t count = 0;
    for (const std::uint64_t seed : {9U, 10U})
        for (const Phase phase : {Phase::train, Phase::validation, Phase::test, Phase::champion})
            for (std::uint64_t round = 0; round < 12; ++round, ++count)
                starts.insert(task->draws(phase, seed, round).at(0).elements);
    EXPECT_EQ(starts.size(), count);
}

TEST(Evaluator, EmptyShardGivesNothing) {
    const auto task = testing::standard_task(R"({"type": "xor"})");
    const auto backend = make_cpu_backend({});
    EXPECT_TRUE(
        Evaluator(*backend, *task, 1).evaluate(std::vector<const Individual*>(), {}).empty());
}

TEST(Infer, GivesOutputsOfRowsAndOfSequences) {
    const auto task = testing::standard_task(R"({"type": "cart_pole"})");
    const auto backend = make_cpu_backend({});
    Genome genome = testing::genome_for(*task, networks[0]);
    genome.weights = {1, 0, 0, 0, 0, 0, 0, 1, 0, 0.5F};
    const std::vector<float> rows{1, 2, 3, 4, 5, 6, 7, 8};
    const std::vector<float> expected{1, 4.5F, 5, 8.5F};
    EXPECT_EQ(infer(*backend, genome, rows, 2, 0), expected);
    EXPECT_EQ(infer(*backend, genome, rows, 1, 2), expected);
    EXPECT_THROW((void)infer(*backend, genome, rows, 3, 0), InputError);

    const Genome remembers = testing::genome_for(*task, networks[3]);
    const std::vector<float> same{1, 2, 3, 4, 1, 2, 3, 4};
    const auto apart = infer(*backend, remembers, same, 2, 0);
    const auto in_time = infer(*backend, remembers, same, 1, 2);
    EXPECT_EQ(apart[0], apart[2]);
    EXPECT_EQ(in_time[0], apart[0]);
    EXPECT_NE(in_time[2], apart[2]);
}

TEST(ProgramCache, ForgetsTheLeastRecentlyUsed) {
    ProgramCache cache(2, 1000);
    const auto key = [](std::uint64_t number) {
        return ProgramKey{.structure = {.high = 0, .low = number}, .variant = 0};
    };
    cache.insert(key(1), {});
    cache.insert(key(2), {});
    EXPECT_NE(cache.find(key(1)), nullptr);
    cache.insert(key(3), {});
    EXPECT_EQ(cache.find(key(2)), nullptr);
    EXPECT_NE(cache.find(key(1)), nullptr);
}

TEST(ProgramCache, ForgetsOthersWhereAllKeepTooMuch) {
    ProgramCache cache(10, 1000);
    const auto insert = [&](std::uint64_t number, std::int64_t bytes) {
        StructureProgram program;
        program.bytes = bytes;
        cache.insert({.structure = {.high = 0, .low = number}, .variant = 0}, std::move(program));
    };
    insert(1, 600);
    insert(2, 400);
    EXPECT_EQ(cache.size(), 2U);
    insert(3, 100);
    EXPECT_EQ(cache.find({.structure = {.high = 0, .low = 1}, .variant = 0}), nullptr);
    EXPECT_EQ(cache.size(), 2U);
    insert(4, 1001);
    EXPECT_EQ(cache.size(), 1U) << "one program at least is there to be run";
    insert(5, 1000);
    EXPECT_EQ(cache.size(), 1U);
    EXPECT_NE(cache.find({.structure = {.high = 0, .low = 5}, .variant = 0}), nullptr);
}

TEST(Evaluator, RunsEpisodesWithWeightsThatStayCodes) {
    const auto task =
        testing::standard_task(R"({"type": "cart_pole", "episodes": 2, "steps": 30})");
    const auto backend = make_cpu_backend({.threads = 2});
    for (
        const std::string_view network :
        {R"({"layers": [{"type": "dense", "out": 256, "activation": "tanh"},
              {"type": "dense", "out": 256, "activation": "tanh"}, {"type": "dense"}], "dtype": "int8"})",
         R"({"layers": [{"type": "lstm", "hidden": 132}, {"type": "dense"}], "dtype": "uint4"})"}) {
        const Genome coded = testing::genome_for(*task, network, 3);
        ASSERT_TRUE(PackedWeights(Network(coded.blueprint)).any());
        const Genome plain = testing::decoded(coded);
        const std::vector<const Genome*> both{&coded, &plain, &coded};
        const auto evaluations = Evaluator(*backend, *task, 1).evaluate(both, {});
        for (const Evaluation& each : evaluations) {
            EXPECT_EQ(each.status, Status::ok);
            EXPECT_EQ(each.fitness, evaluations[0].fitness);
            EXPECT_EQ(each.per_sample, evaluations[0].per_sample);
        }
    }
}

}  // namespace
}  // namespace cambrian::evolve
