#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/genome/distance.hpp"
#include "cambrian/evolve/variation/neat/neat_crossover.hpp"
#include "cambrian/evolve/variation/neat/neat_mutation.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/evolve/support/hyperneat_support.hpp"
#include "cambrian/tests/evolve/support/neat_support.hpp"

// Number formats as genes of networks of single neurons.
namespace cambrian::evolve {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

RandomStream format_stream(std::uint64_t id) {
    return {random_key(11, "test.formats"), id};
}

Genome in_format(Genome genome, Dtype dtype) {
    genome.blueprint.head_formats.weights = dtype;
    return genome;
}

ChildPlan plan_of(const Genome& genome) {
    ChildPlan plan;
    plan.begin(std::make_shared<const Structure>(genome));
    return plan;
}

TEST(NeatFormats, ALayerGetsAnotherAtItsRate) {
    const Genome genome = testing::neat_founder(testing::neat_blueprint(3, 2));
    const MutationSettings settings{.dtype_rate = 0.5F, .dtypes = {Dtype::int8, Dtype::binary}};
    std::map<Dtype, int> found;
    for (std::uint64_t draw = 0; draw < 400; ++draw) {
        ChildPlan plan = plan_of(genome);
        RandomStream rng = format_stream(draw);
        mutate_formats(rng, settings, plan);
        const Genome& child = plan.structure->genome();
        ++found[child.blueprint.head_formats.weights];
        EXPECT_EQ(child.neuron_genes, genome.neuron_genes);
        EXPECT_EQ(child.blueprint.head, genome.blueprint.head);
    }
    EXPECT_NEAR(found[Dtype::float32], 200, 40);
    EXPECT_NEAR(found[Dtype::int8], 100, 35);
    EXPECT_NEAR(found[Dtype::binary], 100, 35);
    // Nothing is drawn where nothing may change.
    RandomStream drawn = format_stream(1);
    RandomStream other = format_stream(1);
    ChildPlan plan = plan_of(genome);
    mutate_formats(drawn, {}, plan);
    EXPECT_EQ(drawn.bits(), other.bits());
}

TEST(NeatFormats, TheWeightsOfConnectionsAreOneRowAndBiasesStay) {
    Genome genome = testing::neat_founder(testing::neat_blueprint(40, 2));
    const std::int64_t plain = Structure(genome).stored_bytes();
    EXPECT_EQ(plain, 4 * (80 + 2));
    // A byte for each weight, a scale for the row; two biases of four.
    const Structure int8(in_format(genome, Dtype::int8));
    EXPECT_EQ(int8.stored_bytes(), 80 + 4 + 2 * 4);
    std::vector<float> weights = genome.weights;
    int8.formats()->round(weights);
    EXPECT_NE(weights, genome.weights);
    EXPECT_EQ(weights[80], genome.weights[80]);
    EXPECT_EQ(weights[81], genome.weights[81]);
}

TEST(NeatFormats, NetworksAreEvaluatedInThem) {
    Genome plain = testing::neat_founder(testing::neat_blueprint(2, 1));
    plain.weights = {0.9F, -0.55F, 0.3F};
    const Genome formatted = in_format(plain, Dtype::ternary);
    Genome rounded = plain;
    Structure(formatted).formats()->round(rounded.weights);
    ASSERT_NE(rounded.weights, plain.weights);
    const auto task = standard_tasks().make(nlohmann::json::parse(R"({"type": "xor"})"), {});
    const auto backend = make_cpu_backend({.threads = 1});
    for (const Family family : {Family::graph, Family::interpreted}) {
        Evaluator evaluator(*backend, *task, 1, family);
        const std::vector<const Genome*> genomes{&formatted, &rounded, &plain};
        const auto found =
            evaluator.evaluate(std::span<const Genome* const>(genomes), EvaluationRound{});
        EXPECT_EQ(found[0].fitness, found[1].fitness);
        EXPECT_NE(found[0].fitness, found[2].fitness);
    }
}

TEST(NeatFormats, AChildHasThatOfEitherParent) {
    const Genome first = testing::neat_founder(testing::neat_blueprint(3, 2));
    const Genome second = in_format(first, Dtype::int4);
    std::map<Dtype, int> found;
    for (std::uint64_t draw = 0; draw < 200; ++draw) {
        RandomStream rng = format_stream(draw);
        NeatSettings settings;
        settings.average_rate = draw % 2 == 0 ? 1.0F : 0.0F;
        const Genome child = cross(rng, settings, first, 2.0, second, 1.0);
        check(child);
        ++found[child.blueprint.head_formats.weights];
    }
    EXPECT_NEAR(found[Dtype::float32], 100, 30);
    EXPECT_NEAR(found[Dtype::int4], 100, 30);
    // Parents with one format have no draw for it: their children are what they were.
    RandomStream one = format_stream(3);
    RandomStream other = format_stream(3);
    const Genome both = in_format(first, Dtype::int4);
    Genome child = cross(one, {}, both, 2.0, second, 1.0);
    EXPECT_EQ(child.blueprint.head_formats.weights, Dtype::int4);
    child.blueprint.head_formats = {};
    EXPECT_EQ(child, cross(other, {}, first, 2.0, first, 1.0));
}

TEST(NeatFormats, AreNoDistanceAndAreKeptInFiles) {
    const Genome genome = testing::neat_founder(testing::neat_blueprint(3, 2));
    const Genome formatted = in_format(genome, Dtype::ternary);
    EXPECT_EQ(distance(genome, formatted, DistanceSettings{}), 0.0);
    EXPECT_EQ(decode_genome(encode(formatted), "test"), formatted);
    EXPECT_NE(content_hash(formatted), content_hash(genome));
}

TEST(NeatFormats, ChildrenOfAKindGetThemByMutationSettings) {
    VariationSettings settings{
        .founder = testing::neat_blueprint(4, 2), .limits = {}, .mutation = {}, .splice = {}};
    settings.mutation.dtype_rate = 0.3F;
    settings.kind = testing::neat_kind(
        R"({"node_add_rate": 0.3, "connection_add_rate": 0.3, "node_delete_rate": 0.1})",
        {.mutation = settings.mutation, .splice = {}, .limits = {}});
    const Variation variation(3, settings);
    Genome parent = variation.materialise({0, Recipe::sample, {}}, {}).genome;
    std::set<Dtype> found;
    for (BirthId id = 1; id < 60; ++id) {
        const std::vector<const Genome*> parents{&parent};
        parent = variation.materialise({id, Recipe::vary, {{id - 1, 0.0}}}, parents).genome;
        check(parent);
        found.insert(parent.blueprint.head_formats.weights);
    }
    EXPECT_GT(found.size(), 3U);
}

TEST(NeatFormats, ACppnHasNone) {
    EXPECT_THAT(
        [] {
            MutationSettings mutation;
            mutation.dtype_rate = 0.1F;
            static_cast<void>(standard_genomes().make(
                nlohmann::json::parse(R"({"type": "hyperneat"})"), {.mutation = mutation,
                                                                    .splice = {},
                                                                    .limits = {},
                                                                    .complexity = {},
                                                                    .observations = 2,
                                                                    .outputs = 1}));
        },
        ThrowsMessage<ConfigError>(
            HasSubstr("mutation.dtype_rate is 0.1 (genome.type is \"hyperneat\"")));
}

// Genes of neurons have no layers for the mutations of plug-ins.
TEST(NeatFormats, PluginsMutateOtherGenomes) {
    CustomMutation added;
    added.key = "twirl_rate";
    added.rate = 0.5F;
    MutationSettings mutation;
    mutation.custom = {added};
    for (const std::string type : {"neat", "hyperneat"})
        EXPECT_THAT(
            [&] {
                static_cast<void>(standard_genomes().make({{"type", type}}, {.mutation = mutation,
                                                                             .splice = {},
                                                                             .limits = {},
                                                                             .complexity = {},
                                                                             .observations = 2,
                                                                             .outputs = 1}));
            },
            ThrowsMessage<ConfigError>(HasSubstr("mutation.twirl_rate is 0.5")));
}

}  // namespace
}  // namespace cambrian::evolve
