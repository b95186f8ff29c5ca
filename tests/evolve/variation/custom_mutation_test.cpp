#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/ties.hpp"
#include "cambrian/evolve/plugins/guarded.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

RandomStream custom_stream(std::uint64_t id) {
    return {random_key(9, "test.custom_mutation"), id};
}

Genome custom_founder(const std::string& json, std::int64_t inputs, std::int64_t outputs) {
    RandomStream rng = custom_stream(1000);
    return sample_genome(Network(test::blueprint_of(json, inputs, outputs)).blueprint(), rng, 0);
}

/// Empties nothing, fills nothing: swaps the activation of the first gene for sin.
std::optional<Mutant> to_sin(RandomStream& rng, const MutationSettings&, const GenomeLimits&,
                             const Genome& genome, std::uint64_t) {
    static_cast<void>(rng.index(2));
    Mutant child{genome};
    *child.genome.blueprint.slots[0]->layer.activations()[0] = Activation::sin;
    return child;
}

Activation first_activation(const Genome& genome) {
    return genome.blueprint.slots[0]->layer.activations().front();
}

/// A plug-in may give it a rate that stands in no config.
TEST(CustomMutation, OfAnotherKindOfGenomeHasARateOfZero) {
    GenomeContext context{.mutation = {}, .splice = {}, .limits = {}};
    context.mutation.custom.push_back(
        {.key = "sin_rate", .meaning = "", .apply = to_sin, .rate = 0.25F});
    EXPECT_THAT(
        [&] {
            static_cast<void>(standard_genomes().make({{"type", "neat"}}, context));
        },
        ThrowsMessage<ConfigError>(
            HasSubstr("mutation.sin_rate is 0.25 (genome.type is \"neat\", which does not read it) "
                      "set it to 0")));
    context.mutation.custom[0].rate = 0.0F;
    EXPECT_NO_THROW(static_cast<void>(standard_genomes().make({{"type", "neat"}}, context)));
}

TEST(CustomMutation, ComesAfterAllOthersAndDrawsNothingAtRateZero) {
    const Genome parent = custom_founder(
        R"({"layers": [{"type": "dense", "out": 3, "activation": "tanh"}, {"type": "dense"}]})", 2,
        1);
    const MutationSettings plain;
    MutationSettings none = plain;
    none.custom.push_back({"sin_rate", "", to_sin, 0.0F});
    MutationSettings always = plain;
    always.custom.push_back({"sin_rate", "", to_sin, 1.0F});
    int changed = 0;
    for (std::uint64_t id = 0; id < 50; ++id) {
        RandomStream a = custom_stream(id);
        RandomStream b = custom_stream(id);
        RandomStream c = custom_stream(id);
        const Genome without = mutate(a, plain, {}, parent, id).genome;
        EXPECT_EQ(mutate(b, none, {}, parent, id).genome, without);
        Genome with = mutate(c, always, {}, parent, id).genome;
        EXPECT_EQ(first_activation(with), Activation::sin);
        // What came before it is what comes without it.
        with.blueprint.slots[0]->layer = without.blueprint.slots[0]->layer;
        EXPECT_EQ(with.blueprint, without.blueprint);
        changed += first_activation(without) == Activation::sin ? 0 : 1;
    }
    EXPECT_EQ(changed, 50);
    EXPECT_FALSE(makes_structures({.weight_rate = 1.0F,
                                   .layer_type_rate = 0.0F,
                                   .layer_insert_rate = 0.0F,
                                   .link_add_rate = 0.0F,
                                   .link_drop_rate = 0.0F}));
    EXPECT_TRUE(makes_structures(always));
}

TEST(CustomMutation, RestsWhereGenesAreLost) {
    GenomeContext context{.mutation = {}, .splice = {}, .limits = {}};
    context.mutation.layer_type_rate = 0.0F;
    context.mutation.custom.push_back(
        {.key = "sin_rate", .meaning = "", .apply = to_sin, .rate = 1.0F});
    context.complexity.delete_rate = 0.0F;
    const auto kind = standard_genomes().make({{"type", "volumetric"}}, context);
    const auto parent = std::make_shared<const Structure>(custom_founder(
        R"({"layers": [{"type": "dense", "out": 3, "activation": "tanh"}, {"type": "dense"}]})", 2,
        1));
    const auto activation_after = [&](auto mutate) {
        ChildPlan plan;
        plan.begin(parent);
        RandomStream rng = custom_stream(1);
        mutate(rng, plan);
        return first_activation(plan.structure->genome());
    };
    EXPECT_EQ(activation_after([&](RandomStream& rng, ChildPlan& plan) {
                  kind->mutate_structure(rng, plan, 1);
              }),
              Activation::sin);
    EXPECT_NE(
        activation_after([&](RandomStream& rng, ChildPlan& plan) { kind->simplify(rng, plan, 1); }),
        Activation::sin);
}

TEST(CustomMutation, KeysAreCheckedWhenAdded) {
    GenomeRegistry registry = standard_genomes();
    registry.add_mutation({"sin_rate", "Swaps for sin.", to_sin, 0.25F});
    EXPECT_EQ(registry.mutation_schema().at("sin_rate").at("default"), 0.25F);
    EXPECT_EQ(registry.mutation_schema().at("sin_rate").at("maximum"), 1.0);
    const auto refused = [&](const std::string& key, const std::string& text) {
        EXPECT_THAT(
            [&] {
                registry.add_mutation({key, "", to_sin, 0.0F});
            },
            ThrowsMessage<ConfigError>(HasSubstr(text)));
    };
    refused("sin_rate", "registered twice");
    refused("weight_rate", "registered twice");
    refused("layer_insert_rate", "registered twice");
    refused("sin", "ends with _rate");
    refused("Sin_rate", "small letters");
    refused("", "cannot be the key");
    registry.add_plugin({"a", "1", {1, 2}});
    EXPECT_THAT(
        [&] {
            registry.add_plugin({"a", "2", {3, 4}});
        },
        ThrowsMessage<ConfigError>(HasSubstr("plug-in \"a\" is loaded twice")));
}

/// What is said of a plug-in's mutation that gives another network in place of a founder, with an
/// edit or none; "" where it is a child.
std::string said_of_child(const Genome& parent, const Genome& other, const GenomeLimits& limits,
                          const std::vector<WeightEdit>& edits = {}) {
    const CustomMutation guarded =
        guarded_mutation({.key = "odd_rate",
                          .meaning = "",
                          .apply = [&](RandomStream&, const MutationSettings&, const GenomeLimits&,
                                       const Genome&, std::uint64_t) -> std::optional<Mutant> {
                              Mutant child{other};
                              child.edits = edits;
                              return child;
                          }},
                         "odd");
    try {
        RandomStream rng = custom_stream(1);
        static_cast<void>(guarded.apply(rng, {}, limits, parent, 1));
        return "";
    } catch (const ConfigError& error) {
        return error.what();
    }
}

WeightEdit edit_of(std::int64_t at, std::int64_t erased, std::int64_t inserted) {
    return {.at = at,
            .erased = erased,
            .inserted = std::vector<float>(static_cast<std::size_t>(inserted))};
}

TEST(CustomMutation, OfAPluginKeepsWhatTheTaskAsksOfNetworks) {
    constexpr const char* dense = R"({"layers": [{"type": "dense"}]})";
    const Genome parent = custom_founder(dense, 4, 2);
    EXPECT_EQ(said_of_child(parent, parent, {}), "");
    // As many weights as a network of 4 and 2 has, 10.
    const Genome wider = custom_founder(dense, 1, 5);
    EXPECT_THAT(
        said_of_child(parent, wider, {}),
        HasSubstr("mutation \"odd_rate\" of the plug-in \"odd\" gives what is no genome (it "
                  "reads 1 values as [1] and writes 5, where its parent reads 4 as [4] and "
                  "writes 2) mend the plug-in"));
    Genome image = parent;
    image.blueprint.input_shape = {1, 2, 2};
    EXPECT_THAT(said_of_child(parent, image, {}), HasSubstr("what is no genome"));
    const Genome remembers = custom_founder(R"({"layers": [{"type": "rnn", "hidden": 2}]})", 4, 2);
    const auto missing = remembers.weights.size() - parent.weights.size();
    const std::vector<WeightEdit> more{edit_of(0, 0, static_cast<std::int64_t>(missing))};
    EXPECT_THAT(said_of_child(parent, remembers, {}, more),
                HasSubstr("the head (rnn) keeps state"));
    EXPECT_EQ(said_of_child(parent, remembers, {.time = true}, more), "");
}

TEST(CustomMutation, OfAPluginEditsWeightsThatAreThere) {
    const Genome parent = custom_founder(R"({"layers": [{"type": "dense"}]})", 4, 2);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    for (const WeightEdit& edit :
         {edit_of(most, 0, 0), edit_of(most, most, 0), edit_of(0, most, 0), edit_of(11, 0, 0),
          edit_of(9, 2, 2), edit_of(-1, 1, 1), edit_of(1, -1, 0)})
        EXPECT_THAT(said_of_child(parent, parent, {}, {edit}), HasSubstr("is beyond the 10"))
            << edit.at << ", " << edit.erased;
    EXPECT_EQ(said_of_child(parent, parent, {}, {edit_of(8, 2, 2)}), "");
    EXPECT_EQ(said_of_child(parent, parent, {}, {edit_of(10, 0, 0)}), "");
}

/// Every structural mutation, at rates that leave few layers as they were.
MutationSettings restless() {
    return {.layer_type_rate = 0.3F,
            .layer_insert_rate = 0.3F,
            .layer_toggle_rate = 0.2F,
            .layer_remove_rate = 0.2F,
            .layer_widen_rate = 0.5F,
            .layer_deepen_rate = 0.3F,
            .layer_field_rate = 0.5F,
            .grid_limit = 12};
}

/// Children of children of a genome, valid each; `seen` looks at them.
template <typename Seen>
void mutate_often(const Genome& start, Seen seen) {
    for (std::uint64_t chain = 0; chain < 10; ++chain) {
        Genome genome = start;
        for (std::uint64_t step = 0; step < 20; ++step) {
            RandomStream rng = custom_stream(chain * 100 + step);
            MutationResult child = mutate(rng, restless(), {}, genome, step + 1);
            genome = std::move(child.genome);
            ASSERT_NO_THROW(check(genome));
            ASSERT_EQ(decode_genome(encode(genome), "test"), genome);
            seen(genome);
        }
    }
}

TEST(TiedWeights, StayOneTensorThroughMutation) {
    const Genome start = custom_founder(
        R"({"layers": [{"type": "embedding", "vocabulary": 6, "features": 4},
                       {"type": "dense", "out": 4, "activation": "relu"},
                       {"type": "dense", "tied": "slot.0.table"}], "grid": {"layers_per_cell": 5}})",
        1, 6);
    mutate_often(start,
                 [](const Genome& genome) { ASSERT_EQ(tie_of(genome.blueprint.head)->slot, 0); });
}

TEST(TiedWeights, OfDenseLayersFollowTheirSlotThroughMutation) {
    const Genome start = custom_founder(
        R"({"layers": [{"type": "dense", "out": 4, "activation": "tanh"},
                       {"type": "dense", "out": 4, "activation": "relu"},
                       {"type": "dense", "tied": "slot.1.weight"}], "grid": {"layers_per_cell": 3}})",
        4, 4);
    const Hash128 lender = start.slot_genes[1].id;
    int moved = 0;
    mutate_often(start, [&](const Genome& genome) {
        const std::optional<Tie> tie = tie_of(genome.blueprint.head);
        ASSERT_TRUE(tie);
        ASSERT_EQ(genome.slot_genes[static_cast<std::size_t>(tie->slot)].id, lender);
        moved += tie->slot == 1 ? 0 : 1;
    });
    EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace cambrian::evolve
