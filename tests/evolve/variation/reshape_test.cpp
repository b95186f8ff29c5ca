#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"
#include "cambrian/evolve/variation/new_layer.hpp"
#include "cambrian/evolve/variation/variation.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/support/network_run.hpp"

// Layers that go, fields that change, fields of new layers, and the power of noise.
namespace cambrian::evolve {
namespace {

using test::blueprint_of;
using testing::all_finite;
using testing::founder;
using ::testing::HasSubstr;
using testing::mixed_blueprint;
using testing::mutated;
using testing::run;

constexpr GenomeLimits reshape_limits{.time = true};

RandomStream reshape_stream(std::uint64_t id) {
    return {random_key(11, "test.reshape"), id};
}

TEST(RemoveLayer, TakesItsLinksAndLeavesTheOthersWeights) {
    Genome parent = founder(blueprint_of(R"({"layers": [{"type": "dense", "out": 3},
        {"type": "dense", "out": 3}, {"type": "dense", "out": 3}, {"type": "dense"}],
        "links": [{"source": 0, "target": 1}, {"source": 0, "target": 2},
                  {"source": 1, "target": "head"}]})",
                                         3, 2));
    parent.weights = test::some_weights(Network(parent.blueprint));
    std::set<std::size_t> removed;
    for (std::uint64_t id = 0; id < 40; ++id) {
        RandomStream rng = reshape_stream(id);
        const Genome child = mutated(remove_layer, rng, {}, {}, parent, id).value();
        check(child);
        std::size_t slot = 0;
        while (child.blueprint.slots[slot]) {
            ++slot;
        }
        removed.insert(slot);
        EXPECT_EQ(child.slot_genes[slot], Gene{});
        EXPECT_EQ(child.blueprint.links.size(), slot == 2 ? 2U : 1U);
        for (const GeneWeights& gene : gene_weights(child.blueprint)) {
            for (const GeneWeights& before : gene_weights(parent.blueprint)) {
                if (gene_at(parent, before).id == gene_at(child, gene).id) {
                    EXPECT_TRUE(
                        std::ranges::equal(weights_of(child, gene), weights_of(parent, before)));
                }
            }
        }
    }
    EXPECT_EQ(removed, (std::set<std::size_t>{0, 1, 2}));
}

TEST(RemoveLayer, UndoesAnInsertion) {
    const auto backend = make_reference_backend(Precision::f64);
    const Genome parent = founder(mixed_blueprint());
    int undone = 0;
    for (std::uint64_t id = 0; id < 40; ++id) {
        RandomStream rng = reshape_stream(id);
        const auto longer = mutated(insert_layer, rng, {}, {}, parent, id);
        const auto child = longer ? mutated(remove_layer, rng, {}, {}, *longer, id) : std::nullopt;
        undone += child && *child == parent ? 1 : 0;
    }
    EXPECT_GT(undone, 3);
}

TEST(RemoveLayer, LeavesTheLastEnabledLayerAndThoseThatChangeTheWidth) {
    const Genome one = founder(blueprint_of(
        R"({"layers": [{"type": "dense", "out": 2}, {"type": "dense", "out": 2, "enabled": false},
            {"type": "dense", "out": 5}, {"type": "dense"}]})",
        2, 2));
    for (std::uint64_t id = 0; id < 20; ++id) {
        RandomStream rng = reshape_stream(id);
        const auto child = mutated(remove_layer, rng, {}, {}, one, id);
        EXPECT_TRUE(!child || child->blueprint.slots[2].has_value());
    }
    const Genome last = founder(blueprint_of(
        R"({"layers": [{"type": "dense", "out": 2}, {"type": "dense", "out": 2, "enabled": false},
            {"type": "dense"}]})",
        2, 2));
    std::set<std::size_t> left;
    for (std::uint64_t id = 0; id < 20; ++id) {
        RandomStream rng = reshape_stream(id);
        if (const auto child = mutated(remove_layer, rng, {}, {}, last, id)) {
            left.insert(child->blueprint.slots[0].has_value() ? 0U : 1U);
        }
    }
    EXPECT_EQ(left, std::set<std::size_t>{0});
}

/// What fields of a layer may become, as JSON of the layers.
std::set<std::string> fields_that_change(const AnyLayer& layer, const Shape& row) {
    std::set<std::string> fields;
    AnyLayer resolved = layer;
    resolved.resolve(row);
    for (const AnyLayer& next : field_changes(resolved, row)) {
        const auto before = to_json(resolved);
        const auto after = to_json(next);
        for (const auto& [key, value] : after.items()) {
            if (before.at(key) != value) {
                fields.insert(key);
            }
        }
    }
    return fields;
}

TEST(Fields, AreThoseThatTheLayerListsAndItsPlaceAllows) {
    EXPECT_EQ(fields_that_change(Dense{.out = 3}, {4}), (std::set<std::string>{"bias", "out"}));
    EXPECT_EQ(fields_that_change(Gru{{.hidden = 3}}, {4}), (std::set<std::string>{"hidden"}));
    EXPECT_EQ(fields_that_change(Conv1d{.out_channels = 2}, {2, 6}),
              (std::set<std::string>{"bias", "dilation", "groups", "kernel", "out_channels",
                                     "padding", "stride"}));
    EXPECT_EQ(fields_that_change(MultiHeadAttention{.heads = 2}, {4}),
              (std::set<std::string>{"bias", "head_dim", "heads", "kv_heads", "window"}));
    EXPECT_EQ(fields_that_change(Embedding{.vocabulary = 4, .features = 2}, {1}),
              (std::set<std::string>{"features"}));
    EXPECT_EQ(fields_that_change(RmsNorm(), {4}), (std::set<std::string>{"epsilon"}));
    // Widths that could be left open are not opened.
    const AnyLayer narrow = Conv1d{.in_channels = 1, .out_channels = 1};
    for (const AnyLayer& next : field_changes(narrow, {1, 6})) {
        EXPECT_NE(next, narrow);
        EXPECT_FALSE(next.parameters().empty());
    }
}

TEST(Fields, ChangeAndLeaveAValidNetwork) {
    const auto backend = make_reference_backend(Precision::f64);
    const std::vector<Genome> parents{
        founder(blueprint_of(R"({"layers": [{"type": "dense", "out": 4}, {"type": "layer_norm"},
            {"type": "swiglu"}, {"type": "multi_head_attention", "heads": 2}, {"type": "mamba"},
            {"type": "kmeans", "clusters": 3}, {"type": "delta", "hidden": 2}, {"type": "dense"}],
            "links": [{"source": 0, "target": 3}, {"source": 1, "target": "head"}]})",
                             3, 2)),
        founder(blueprint_of(R"({"input": [2, 5, 5], "layers": [
            {"type": "conv2d", "out_channels": 3}, {"type": "batch_norm"},
            {"type": "average_pool2d", "kernel": 2, "stride": 1}, {"type": "dense", "out": 3},
            {"type": "dense"}]})",
                             50, 2))};
    std::set<std::string> changed;
    for (std::uint64_t id = 0; id < 200; ++id) {
        const Genome& parent = parents[id % 2];
        RandomStream rng = reshape_stream(id);
        const auto child = mutated(mutate_field, rng, {}, reshape_limits, parent, id);
        if (!child) {
            continue;
        }
        check(*child);
        EXPECT_TRUE(all_finite(run(*backend, *child)));
        EXPECT_EQ(child->slot_genes, parent.slot_genes);
        for (const int slot : filled_slots(parent.blueprint)) {
            if (layer_at(child->blueprint, slot) != layer_at(parent.blueprint, slot)) {
                changed.emplace(layer_at(parent.blueprint, slot).type());
                break;
            }
        }
    }
    for (const char* type : {"dense", "swiglu", "multi_head_attention", "mamba", "kmeans", "delta",
                             "conv2d", "batch_norm", "average_pool2d"}) {
        EXPECT_TRUE(changed.contains(type)) << type;
    }
}

TEST(Fields, WeightsThatBothSizesHaveStay) {
    const Genome parent = founder(
        blueprint_of(R"({"layers": [{"type": "dense", "out": 4}, {"type": "dense"}]})", 3, 2));
    for (std::uint64_t id = 0; id < 40; ++id) {
        RandomStream rng = reshape_stream(id);
        const Genome child = mutated(mutate_field, rng, {}, {}, parent, id).value();
        const auto& layer = std::get<Dense>(child.blueprint.slots[0]->layer.variant());
        for (std::int64_t unit = 0; unit < std::min<std::int64_t>(layer.out, 4); ++unit) {
            for (std::int64_t input = 0; input < 3; ++input) {
                const auto at = static_cast<std::size_t>(unit * 3 + input);
                EXPECT_EQ(child.weights[at], parent.weights[at]);
            }
        }
    }
}

TEST(NewLayers, HaveTheFieldsGivenForTheirType) {
    MutationSettings settings;
    settings.layers = {MultiHeadAttention{.heads = 2}, Conv2d{.kernel = 5, .padding = 2},
                       Embedding{.vocabulary = 7}, Kmeans{.clusters = 3}};
    EXPECT_NO_THROW(check_new_layers(settings));
    const auto attention = new_layer("multi_head_attention", {8}, {8}, settings);
    ASSERT_TRUE(attention.has_value());
    EXPECT_EQ(std::get<MultiHeadAttention>(attention->variant()).heads, 2);
    const auto image = new_identity("conv2d", {3, 8, 8}, settings);
    ASSERT_TRUE(image.has_value());
    EXPECT_THAT(to_json(*image).dump(), HasSubstr(R"("kernel":5)"));
    EXPECT_THAT(to_json(*new_layer("embedding", {4}, {4}, settings)).dump(),
                HasSubstr(R"("vocabulary":7)"));
    EXPECT_EQ(std::get<MultiHeadAttention>(attention->variant()).head_dim, 4);
    // Seven features do not make two equal heads: each has as many as the only one had.
    const auto odd = new_layer("multi_head_attention", {7}, {7}, settings);
    ASSERT_TRUE(odd.has_value());
    EXPECT_EQ(std::get<MultiHeadAttention>(odd->variant()).head_dim, 7);
    EXPECT_FALSE(new_layer("conv2d", {3, 8, 8}, {3, 4, 4}, {.layers = {Conv2d{.kernel = 1}}}));
    EXPECT_EQ(new_layer("dense", {4}, {4}, settings), fitted_layer("dense", {4}, {4}));
}

TEST(NewLayers, RefuseWhatStandsNowhere) {
    const auto text = [](std::vector<AnyLayer> layers) -> std::string {
        VariationSettings settings;
        settings.founder = mixed_blueprint();
        settings.mutation.layers = std::move(layers);
        try {
            const Variation variation(1, settings);
        } catch (const ConfigError& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_THAT(text({Dense{.out = 3}}), HasSubstr("mutation.layers gives dense fields"));
    EXPECT_THAT(text({Dropout{.rate = 0.2F}, Dropout{.rate = 0.3F}}), HasSubstr("twice"));
    EXPECT_EQ(text({Dropout{.rate = 0.2F}}), "");
}

TEST(WeightPower, FollowsItsScheduleFromBirthToBirth) {
    MutationSettings settings{.weight_power = 0.5F};
    settings.weight_power_end = 0.125F;
    settings.weight_power_births = 100;
    EXPECT_EQ(scheduled_power(settings, 50), 0.5F);
    settings.weight_power_schedule = WeightPowerSchedule::linear;
    EXPECT_EQ(scheduled_power(settings, 0), 0.5F);
    EXPECT_EQ(scheduled_power(settings, 50), 0.3125F);
    EXPECT_EQ(scheduled_power(settings, 1000), 0.125F);
    settings.weight_power_schedule = WeightPowerSchedule::exponential;
    EXPECT_NEAR(static_cast<double>(scheduled_power(settings, 0)), 0.5, 1e-6);
    EXPECT_NEAR(static_cast<double>(scheduled_power(settings, 50)), 0.25, 1e-6);
    EXPECT_EQ(scheduled_power(settings, 100), 0.125F);
    EXPECT_NO_THROW(check_schedule(settings));
    settings.weight_power_end = 0.0F;
    EXPECT_THROW(check_schedule(settings), ConfigError);
}

TEST(WeightPower, EvolvesWithTheGenome) {
    const Genome parent = founder(mixed_blueprint());
    MutationSettings settings{.weight_power = 0.1F};
    settings.weight_power_change = 0.5F;
    double sum = 0.0;
    double squares = 0.0;
    constexpr int count = 400;
    for (std::uint64_t id = 0; id < count; ++id) {
        RandomStream rng = reshape_stream(id);
        const Genome child = mutate(rng, settings, {}, parent, id).genome;
        check(child);
        EXPECT_EQ(decode_genome(encode(child), "child"), child);
        EXPECT_NE(content_hash(child), content_hash(parent));
        const double change = std::log(static_cast<double>(child.weight_power) / 0.1);
        sum += change;
        squares += change * change;
        RandomStream again = reshape_stream(id);
        EXPECT_EQ(mutate(again, settings, {}, parent, id).genome, child);
    }
    EXPECT_NEAR(sum / count, 0.0, 0.1);
    EXPECT_NEAR(std::sqrt(squares / count), 0.5, 0.07);
    EXPECT_EQ(encode(parent).size() + 4, [&] {
        Genome own = parent;
        own.weight_power = 0.2F;
        return encode(own).size();
    }());
}

TEST(WeightPower, IsTheDeviationOfTheChildsNoise) {
    Genome genome = founder(testing::blueprint(40, {{"dense", 60}}, 40));
    const Genome parent = genome;
    genome.weight_power = 0.4F;
    MutationSettings settings{.weight_rate = 1.0F};
    settings.weight_power_change = 1e-6F;
    RandomStream rng = reshape_stream(1);
    mutate_weights(rng, settings, genome);
    double squares = 0.0;
    for (std::size_t i = 0; i < genome.weights.size(); ++i) {
        squares += std::pow(static_cast<double>(genome.weights[i] - parent.weights[i]), 2);
    }
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(genome.weights.size())), 0.4, 0.02);
    EXPECT_NEAR(static_cast<double>(genome.weight_power), 0.4, 1e-4);
}

TEST(Weights, OfLinksMoveLikeThoseOfLayers) {
    const Genome parent = founder(blueprint_of(
        R"({"layers": [{"type": "dense", "out": 3}, {"type": "dense"}],
            "links": [{"source": "input", "target": "head"}]})",
        2, 2));
    Genome child = parent;
    RandomStream rng = reshape_stream(3);
    mutate_weights(rng, {.weight_rate = 1.0F}, child);
    const GeneWeights link = gene_weights(parent.blueprint).back();
    ASSERT_EQ(link.link, 0);
    for (std::int64_t i = 0; i < link.count; ++i) {
        EXPECT_NE(child.weights[static_cast<std::size_t>(link.offset + i)], 0.0F);
    }
}

TEST(Operators, OfARateOfZeroLeaveTheDrawsOfTheOthers) {
    const Genome parent = founder(mixed_blueprint());
    MutationSettings later;
    later.layer_widen_units = 7;
    later.grid_limit = 100;
    later.weight_power_births = 3;
    for (std::uint64_t id = 0; id < 20; ++id) {
        RandomStream one = reshape_stream(id);
        RandomStream two = reshape_stream(id);
        EXPECT_EQ(mutate(one, {}, {}, parent, id).genome,
                  mutate(two, later, {}, parent, id).genome);
        EXPECT_EQ(one.bits(), two.bits());
    }
}

}  // namespace
}  // namespace cambrian::evolve
