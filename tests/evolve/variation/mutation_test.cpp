#include "cambrian/evolve/variation/mutation.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian::evolve {
namespace {

using testing::blueprint;
using testing::founder;
using testing::largest_difference;
using testing::mixed_blueprint;
using testing::mutated;
using testing::run;

constexpr GenomeLimits with_time{.time = true};

RandomStream stream(std::uint64_t id) {
    return {random_key(5, "test.mutation"), id};
}

MutationSettings every_type() {
    MutationSettings settings;
    settings.layer_types.clear();
    for (const std::string_view type : layer_types()) {
        settings.layer_types.emplace_back(type);
    }
    return settings;
}

TEST(InsertLayer, PreservesTheFunction) {
    const auto backend = make_reference_backend(Precision::f64);
    const Genome parent = founder(mixed_blueprint());
    const Tensor before = run(*backend, parent);
    std::set<std::string> types;
    int inserted = 0;
    for (std::uint64_t id = 0; id < 200; ++id) {
        RandomStream rng = stream(id);
        const auto child = mutated(insert_layer, rng, every_type(), with_time, parent, id);
        if (!child) {
            continue;
        }
        check(*child);
        for (std::size_t slot = 0; slot < parent.slot_genes.size(); ++slot) {
            if (!parent.blueprint.slots[slot] && child->blueprint.slots[slot]) {
                types.emplace(child->blueprint.slots[slot]->layer.type());
                EXPECT_EQ(child->slot_genes[slot].born, id);
                ++inserted;
            }
        }
        EXPECT_EQ(largest_difference(run(*backend, *child), before), 0.0);
    }
    EXPECT_GT(inserted, 50);
    EXPECT_TRUE(types.contains("dense"));
    EXPECT_TRUE(types.contains("residual"));
}

TEST(InsertLayer, NeedsAnEmptySlot) {
    const Genome full = founder(blueprint(2, {{"dense", 2}}, 1));
    RandomStream rng = stream(0);
    EXPECT_FALSE(mutated(insert_layer, rng, {}, {}, full, 1).has_value());
}

TEST(InsertLayer, DelaysNothingInAMesh) {
    Genome parent = founder(blueprint(2, {{}, {"dense", 2}, {}, {"dense", 2}, {}}, 1));
    parent.blueprint.mode = NetworkMode::mesh;
    const auto outputs = [](const Genome& genome) {
        return test::run_sequence(Network(genome.blueprint), genome.weights,
                                  test::some_rows({1, 6, 2}));
    };
    const Tensor before = outputs(parent);
    std::set<std::size_t> places;
    for (std::uint64_t id = 0; id < 60; ++id) {
        RandomStream rng = stream(id);
        const auto child = mutated(insert_layer, rng, every_type(), with_time, parent, id);
        if (!child) {
            continue;
        }
        EXPECT_EQ(test::difference(outputs(*child), before), 0.0);
        for (const std::size_t slot : {0U, 2U, 4U}) {
            if (child->blueprint.slots[slot]) {
                places.insert(slot);
                // Before the first slot the new one sees the input, and the old first one has no
                // clock.
                EXPECT_EQ(child->blueprint.slots[slot == 0 ? 1 : slot]->clocked, false);
            }
        }
    }
    EXPECT_EQ(places, (std::set<std::size_t>{0, 2, 4}));
    // With a clock even a layer without weights, which is the identity, moves the function by a
    // step.
    Genome child = parent;
    child.blueprint.slots[2] = Slot{.layer = Dropout{}};
    EXPECT_GT(test::difference(outputs(child), before), 0.01);
}

TEST(InsertLayer, LeavesAnEmptyResidualBesideTheLayerItAdds) {
    Blueprint description = blueprint(4, {{"dense", 4}, {}, {"residual", 4}, {}}, 2);
    description.slots[2]->layer = Residual{.layers = {}, .features = 4};
    const Genome parent = founder(description);
    int inserted = 0;
    for (std::uint64_t id = 0; id < 20; ++id) {
        RandomStream rng = stream(id);
        if (const auto child = mutated(insert_layer, rng, {}, {}, parent, id)) {
            EXPECT_FALSE(child->blueprint.slots[1].has_value());
            EXPECT_TRUE(child->blueprint.slots[3].has_value());
            ++inserted;
        }
    }
    EXPECT_GT(inserted, 2);
}

TEST(AddLink, PreservesTheFunctionUntilEveryLinkIsThere) {
    const auto backend = make_reference_backend(Precision::f64);
    Genome genome = founder(mixed_blueprint());
    const Tensor before = run(*backend, genome);
    // Forward: 4 sources times later ends (3 + 1, 2 + 1, 1 + 1, 0 + 1); backward: 1 + 2 + 3.
    for (std::uint64_t id = 0; id < 16; ++id) {
        RandomStream rng = stream(id);
        genome = mutated(add_link, rng, {}, with_time, genome, id).value();
        check(genome);
        EXPECT_LE(largest_difference(run(*backend, genome), before), 1e-6) << id;
    }
    RandomStream rng = stream(16);
    EXPECT_FALSE(mutated(add_link, rng, {}, with_time, genome, 16).has_value());
    EXPECT_FALSE(mutated(add_link, rng, {}, {}, genome, 16).has_value());
}

TEST(AddLink, IsForwardOnlyWithoutTime) {
    Genome genome = founder(mixed_blueprint());
    for (std::uint64_t id = 0; id < 10; ++id) {
        RandomStream rng = stream(id);
        genome = mutated(add_link, rng, {}, {}, genome, id).value();
    }
    EXPECT_FALSE(Network(genome.blueprint).stateful());
    RandomStream rng = stream(10);
    EXPECT_FALSE(mutated(add_link, rng, {}, {}, genome, 10).has_value());
}

/// An embedding between empty slots, and one in a container that another one stands before.
Genome ids_genome() {
    return founder(
        blueprint_from_json(nlohmann::json::parse(R"({"grid": {"layers_per_cell": 8}, "layers": [
            {"type": "residual", "at": [0, 0, 0, 2], "layers": [
                {"type": "embedding", "vocabulary": 4, "features": 1}]},
            {"type": "sequential", "at": [0, 0, 0, 5], "layers": [
                {"type": "softmax"}, {"type": "embedding", "vocabulary": 2, "features": 3}]},
            {"type": "dense"}]})"),
                            1, 2));
}

TEST(AddLink, EndsNowhereThatIdsAreRead) {
    std::set<int> targets;
    Genome genome = ids_genome();
    RandomStream rng = stream(1);
    std::uint64_t id = 1;
    while (const auto child = mutated(add_link, rng, {}, with_time, genome, id++)) {
        genome = *child;
    }
    for (const Link& link : genome.blueprint.links) {
        targets.insert(link.target);
    }
    EXPECT_EQ(targets, (std::set<int>{5, 8}));
}

TEST(InsertLayer, PutsNothingBeforeIds) {
    std::set<std::size_t> places;
    const Genome parent = ids_genome();
    for (std::uint64_t id = 0; id < 200; ++id) {
        RandomStream rng = stream(id);
        if (const auto child = mutated(insert_layer, rng, every_type(), with_time, parent, id)) {
            for (std::size_t slot = 0; slot < 8; ++slot) {
                if (!parent.blueprint.slots[slot] && child->blueprint.slots[slot]) {
                    places.insert(slot);
                }
            }
        }
    }
    EXPECT_EQ(places, (std::set<std::size_t>{3, 4, 6, 7}));
}

TEST(Ids, NothingBeforeTheirReaderIsAddedToOrChanged) {
    const auto made = [](std::string_view layers) {
        return founder(blueprint_from_json(nlohmann::json::parse(layers), 1, 2));
    };
    const Genome table = made(R"({"grid": {"layers_per_cell": 6}, "layers": [
        {"type": "dropout", "at": [0, 0, 0, 0]},
        {"type": "embedding", "vocabulary": 4, "features": 2, "at": [0, 0, 0, 2]},
        {"type": "dense"}]})");
    const Genome head = made(R"({"grid": {"layers_per_cell": 6}, "layers": [
        {"type": "dropout"}, {"type": "embedding", "vocabulary": 3}]})");
    EXPECT_EQ(last_reader_of_ids(table.blueprint), 2);
    EXPECT_EQ(last_reader_of_ids(head.blueprint), 6);
    EXPECT_TRUE(togglable_slots(table.blueprint).empty());
    EXPECT_TRUE(togglable_slots(head.blueprint).empty());
    for (std::uint64_t id = 0; id < 100; ++id) {
        RandomStream rng = stream(id);
        EXPECT_FALSE(mutated(add_link, rng, {}, with_time, head, id).has_value());
        EXPECT_FALSE(mutated(insert_layer, rng, every_type(), with_time, head, id).has_value());
        EXPECT_FALSE(
            mutated(mutate_layer_type, rng, every_type(), with_time, head, id).has_value());
        EXPECT_FALSE(change_layer_type(rng, every_type(), with_time, table, 0, id).has_value());
        if (const auto child = mutated(add_link, rng, {}, with_time, table, id)) {
            EXPECT_EQ(child->blueprint.links.at(0).target, 6);
        }
        if (const auto child = mutated(insert_layer, rng, every_type(), with_time, table, id)) {
            EXPECT_FALSE(child->blueprint.slots[1].has_value());
        }
    }
}

TEST(DropLink, UndoesAddLink) {
    const Genome parent = founder(mixed_blueprint());
    for (std::uint64_t id = 0; id < 20; ++id) {
        RandomStream rng = stream(id);
        const Genome linked = mutated(add_link, rng, {}, with_time, parent, 1).value();
        EXPECT_EQ(mutated(drop_link, rng, {}, with_time, linked, 2).value(), parent);
    }
    RandomStream rng = stream(0);
    EXPECT_FALSE(mutated(drop_link, rng, {}, with_time, parent, 2).has_value());
}

TEST(LayerType, ChangesTypeAndNameAndKeepsTheWidths) {
    const Genome parent = founder(mixed_blueprint());
    int changed = 0;
    for (std::uint64_t id = 0; id < 60; ++id) {
        RandomStream rng = stream(id);
        const auto child = mutated(mutate_layer_type, rng, every_type(), with_time, parent, 9);
        if (!child) {
            continue;
        }
        check(*child);
        EXPECT_EQ(chain_shapes(child->blueprint), chain_shapes(parent.blueprint));
        for (std::size_t slot = 0; slot < parent.slot_genes.size(); ++slot) {
            if (child->slot_genes[slot] != parent.slot_genes[slot]) {
                EXPECT_NE(child->blueprint.slots[slot]->layer.type(),
                          parent.blueprint.slots[slot]->layer.type());
                EXPECT_EQ(child->slot_genes[slot].born, 9U);
                ++changed;
            }
        }
    }
    EXPECT_GT(changed, 20);
}

TEST(LayerType, StatefulOnlyWithTime) {
    const Genome parent = founder(mixed_blueprint());
    for (std::uint64_t id = 0; id < 20; ++id) {
        RandomStream rng = stream(id);
        EXPECT_FALSE(
            mutated(mutate_layer_type, rng, {.layer_types = {"rnn"}}, {}, parent, 1).has_value());
        EXPECT_TRUE(mutated(mutate_layer_type, rng, {.layer_types = {"rnn"}}, with_time, parent, 1)
                        .has_value());
        EXPECT_FALSE(
            mutated(insert_layer, rng, {.layer_types = {"rnn"}}, {}, parent, 1).has_value());
    }
}

TEST(ToggleLayer, NeverDisablesTheLastLayer) {
    Genome genome = founder(blueprint(4, {{"dense", 4}, {"rms_norm", 4}}, 2));
    for (std::uint64_t id = 0; id < 50; ++id) {
        RandomStream rng = stream(id);
        if (const auto child = mutated(toggle_layer, rng, {}, {}, genome, id)) {
            genome = *child;
        }
        EXPECT_TRUE(genome.blueprint.slots[0]->enabled || genome.blueprint.slots[1]->enabled);
        check(genome);
    }
}

TEST(ToggleLayer, LeavesLayersThatChangeTheWidth) {
    const Genome genome = founder(blueprint(4, {{"dense", 6}, {"dense", 5}}, 2));
    RandomStream rng = stream(0);
    EXPECT_FALSE(mutated(toggle_layer, rng, {}, {}, genome, 1).has_value());
}

TEST(Activation, ReachesEveryGeneButTheHead) {
    const Genome parent = founder(mixed_blueprint());
    std::set<int> slots;
    for (std::uint64_t id = 0; id < 60; ++id) {
        RandomStream rng = stream(id);
        const Genome child = mutated(mutate_activation, rng, {}, {}, parent, 1).value();
        EXPECT_EQ(child.blueprint.head, parent.blueprint.head);
        EXPECT_EQ(child.weights, parent.weights);
        for (const int slot : {0, 2, 4}) {
            const auto index = static_cast<std::size_t>(slot);
            if (child.blueprint.slots[index] != parent.blueprint.slots[index]) {
                slots.insert(slot);
            }
        }
    }
    EXPECT_EQ(slots, (std::set<int>{0, 4}));
}

TEST(InsertLayer, LeavesOutLayersOfTooManyWeights) {
    Blueprint wide;
    wide.input_features = 2000;
    wide.output_features = 1;
    wide.grid.layers_per_cell = 1;
    wide.slots.resize(1);
    wide.head = fitted_layer("dense", {2000}, {1}).value();
    const Genome parent = founder(wide);
    RandomStream rng = stream(0);
    EXPECT_FALSE(mutated(insert_layer, rng, {.layer_types = {"dense"}}, {}, parent, 1).has_value());
}

TEST(Mutate, EqualMutationsOfEqualAncestorsGetEqualIds) {
    const Genome ancestor = founder(mixed_blueprint());
    Genome left = ancestor;
    Genome right = ancestor;
    RandomStream noise = stream(77);
    mutate_weights(noise, {}, right);
    for (std::uint64_t step = 0; step < 12; ++step) {
        RandomStream rng_left = stream(step);
        RandomStream rng_right = stream(step);
        const Mutation operation = step % 3 == 0   ? insert_layer
                                   : step % 3 == 1 ? add_link
                                                   : mutate_layer_type;
        const auto next_left = mutated(operation, rng_left, {}, with_time, left, 100 + step);
        const auto next_right = mutated(operation, rng_right, {}, with_time, right, 200 + step);
        ASSERT_EQ(next_left.has_value(), next_right.has_value());
        if (next_left) {
            left = *next_left;
            right = *next_right;
        }
    }
    EXPECT_EQ(left.blueprint, right.blueprint);
    for (std::size_t i = 0; i < left.slot_genes.size(); ++i) {
        EXPECT_EQ(left.slot_genes[i].id, right.slot_genes[i].id);
    }
    ASSERT_FALSE(left.link_genes.empty());
    for (std::size_t i = 0; i < left.link_genes.size(); ++i) {
        EXPECT_EQ(left.link_genes[i].id, right.link_genes[i].id);
        EXPECT_EQ(left.link_genes[i].born + 100, right.link_genes[i].born);
    }
}

TEST(Mutate, CountsDrawsWithoutAnOutcome) {
    MutationSettings settings{.weight_rate = 0.0F,
                              .activation_rate = 0.0F,
                              .layer_type_rate = 0.0F,
                              .layer_insert_rate = 1.0F,
                              .layer_toggle_rate = 0.0F,
                              .link_add_rate = 0.0F,
                              .link_drop_rate = 1.0F};
    const Genome full = founder(blueprint(2, {{"dense", 2}}, 1));
    RandomStream rng = stream(0);
    const MutationResult result = mutate(rng, settings, {}, full, 1);
    EXPECT_EQ(result.retries, 16U);
    EXPECT_EQ(result.genome, full);
}

TEST(Mutate, RepeatsADrawThatDidNotFit) {
    // Widths 3 to 6: only dense fits slot 0, so a hit there must be drawn again.
    MutationSettings settings;
    settings.layer_type_rate = 1.0F;
    settings.layer_types = {"dense", "rms_norm"};
    std::uint32_t retries = 0;
    for (std::uint64_t id = 0; id < 20; ++id) {
        RandomStream rng = stream(id);
        const MutationResult result = mutate(rng, settings, {}, founder(mixed_blueprint()), id);
        check(result.genome);
        retries += result.retries;
    }
    EXPECT_GT(retries, 20U);
}

TEST(MutateDtype, LeavesAHeadWithoutWeightsOfItsOwn) {
    MutationSettings settings;
    settings.dtypes = {Dtype::float32, Dtype::int8};
    const auto described = [](const char* text) {
        return blueprint_from_json(nlohmann::json::parse(text), 4, 4);
    };
    const Genome tied = founder(described(R"({"layers": [
        {"type": "dense", "out": 4}, {"type": "dense", "tied": "slot.0.weight"}]})"));
    const Genome none = founder(described(R"({"layers": [{"type": "softmax"}]})"));
    for (std::uint64_t id = 0; id < 20; ++id) {
        RandomStream rng = stream(id);
        const auto child = mutated(mutate_dtype, rng, settings, {}, tied, id);
        ASSERT_TRUE(child.has_value());
        EXPECT_TRUE(child->blueprint.head_formats.is_plain());
        EXPECT_EQ(child->blueprint.slots[0]->formats.weights, Dtype::int8);
        EXPECT_FALSE(mutated(mutate_dtype, rng, settings, {}, none, id).has_value());
    }
}

TEST(MutateDtype, ChangesTheFormatOfOneLayerAndNoWeight) {
    const Genome parent = founder(mixed_blueprint());
    MutationSettings settings;
    settings.dtypes = {Dtype::float32, Dtype::int8, Dtype::binary};
    std::set<int> changed;
    for (std::uint64_t id = 0; id < 60; ++id) {
        RandomStream rng = stream(id);
        const auto child = mutated(mutate_dtype, rng, settings, {}, parent, id);
        ASSERT_TRUE(child.has_value());
        check(*child);
        EXPECT_EQ(child->weights, parent.weights);
        int differ = 0;
        for (int slot = 0; slot <= parent.blueprint.grid.slots(); ++slot) {
            const LayerFormats& formats = formats_of(child->blueprint, slot);
            if (formats == formats_of(parent.blueprint, slot)) {
                continue;
            }
            EXPECT_TRUE(formats.weights == Dtype::int8 || formats.weights == Dtype::binary);
            changed.insert(slot);
            ++differ;
        }
        EXPECT_EQ(differ, 1);
    }
    // Dense layers and the head have matrices, norms have none.
    EXPECT_TRUE(changed.contains(0));
    EXPECT_FALSE(changed.contains(2));
    EXPECT_TRUE(changed.contains(parent.blueprint.grid.slots()));
    settings.dtypes = {Dtype::float32};
    RandomStream rng = stream(0);
    EXPECT_FALSE(mutated(mutate_dtype, rng, settings, {}, parent, 1).has_value());
}

}  // namespace
}  // namespace cambrian::evolve
