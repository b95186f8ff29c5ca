#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/variation/layer_change.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/support/network_passes.hpp"
#include "cambrian/tests/support/network_run.hpp"

// Operators that make networks larger and leave what they compute.
namespace cambrian::evolve {
namespace {

using test::blueprint_of;
using testing::founder;
using ::testing::HasSubstr;
using testing::mutated;
using testing::run;

constexpr GenomeLimits growth_limits{.time = true};

RandomStream growth_stream(std::uint64_t id) {
    return {random_key(9, "test.growth"), id};
}

/// Of a network whose weights are all different and not zero, links included.
Genome growing_genome(const std::string& layers, std::int64_t inputs,
                      const std::string& rest = "") {
    Genome genome = founder(blueprint_of(R"({"layers": )" + layers + rest + "}", inputs, 2));
    const Network network(genome.blueprint);
    genome.weights = test::some_weights(network);
    for (const WeightRange& range : network.weights()) {
        if (range.parameter.buffer) {  // a variance is positive
            const auto first = genome.weights.begin() + range.offset;
            std::transform(first, first + range.count, first,
                           [](float value) { return 0.5F + std::abs(value); });
        }
    }
    return genome;
}

const std::string chain_links = R"(, "grid": {"layers_per_cell": 6}, "links": [
    {"source": "input", "target": 1}, {"source": 0, "target": 2}, {"source": 1, "target": 1,
    "kind": "backward"}, {"source": 1, "target": "head"}, {"source": 0, "target": 1}])";

/// Networks of every kind of layer, in chains and meshes, with and without links.
std::map<std::string, Genome> growing_networks() {
    const std::string dense = R"([{"type": "dense", "out": 3, "activation": "tanh"},
        {"type": "dense", "out": 3, "activation": "relu"}, {"type": "dense", "out": 4},
        {"type": "dense"}])";
    const std::string gates = R"([{"type": "rnn", "hidden": 3}, {"type": "lstm", "hidden": 3},
        {"type": "gru", "hidden": 4}, {"type": "mgu", "hidden": 3}, {"type": "ugrnn", "hidden": 2},
        {"type": "delta", "hidden": 3}, {"type": "dense"}])";
    const std::string blocks = R"([{"type": "dense", "out": 4}, {"type": "swiglu", "hidden": 3},
        {"type": "multi_head_attention", "heads": 2}, {"type": "mamba"},
        {"type": "rms_norm"}, {"type": "kmeans", "clusters": 3}, {"type": "dense"}])";
    const std::string images = R"([
        {"type": "conv2d", "out_channels": 2, "padding": 1, "activation": "relu"},
        {"type": "batch_norm"}, {"type": "max_pool2d", "kernel": 2}, {"type": "dropout"},
        {"type": "conv_transpose2d", "out_channels": 3, "activation": "tanh"},
        {"type": "dense", "out": 3, "activation": "sigmoid"}, {"type": "dense"}])";
    const std::string mesh = R"(, "mode": "mesh")";
    const std::string room = R"(, "grid": {"layers_per_cell": 9})";
    return {
        {"dense", growing_genome(dense, 2, chain_links)},
        {"dense mesh", growing_genome(dense, 2, chain_links + mesh)},
        {"gates", growing_genome(gates, 2, room)},
        {"gates mesh", growing_genome(gates, 2, room + mesh)},
        {"blocks", growing_genome(blocks, 2, room)},
        {"blocks mesh", growing_genome(blocks, 2, room + mesh)},
        {"images", growing_genome(images, 32, room + R"(, "input": [2, 4, 4])")},
        {"images mesh", growing_genome(images, 32, room + mesh + R"(, "input": [2, 4, 4])")},
        {"lines", growing_genome(R"([{"type": "conv1d", "out_channels": 2, "activation": "relu"},
                {"type": "conv1d", "out_channels": 3, "kernel": 2}, {"type": "dense"}])",
                                 12, room + R"(, "input": [2, 6])")}};
}

struct Keeper {
    const char* name;
    Mutation mutation;
};
constexpr std::array keepers{Keeper{"insert", insert_layer}, Keeper{"add link", add_link},
                             Keeper{"widen", widen_layer}, Keeper{"deepen", deepen_layer}};

double largest_of(const Tensor& tensor) {
    double result = 0.0;
    for (const double value : tensor.elements) {
        result = std::max(result, std::abs(value));
    }
    return result;
}

MutationSettings every_new_type() {
    MutationSettings settings{.grid_limit = 40};
    settings.layer_types.assign(layer_types().begin(), layer_types().end());
    return settings;
}

TEST(Growth, KeepsTheFunctionInChainsAndMeshes) {
    const auto backend = make_reference_backend(Precision::f64);
    std::map<std::string, int> hits;
    for (const auto& [name, start] : growing_networks()) {
        for (std::uint64_t id = 0; id < 6; ++id) {
            Genome genome = start;
            RandomStream rng = growth_stream(id);
            for (std::uint64_t step = 0; step < 24; ++step) {
                const Keeper& keeper = keepers.at(rng.index(keepers.size()));
                const auto child =
                    mutated(keeper.mutation, rng, every_new_type(), growth_limits, genome, step);
                if (!child) {
                    continue;
                }
                ASSERT_NO_THROW(check(*child)) << keeper.name << " in " << name;
                const Tensor before = run(*backend, genome, 5);
                const Tensor after = run(*backend, *child, 5);
                ASSERT_TRUE(testing::all_finite(after)) << keeper.name << " in " << name;
                const double moved = testing::largest_difference(after, before);
                ASSERT_LE(moved, 1e-5 * largest_of(before))
                    << keeper.name << " in " << name << ", stream " << id << " step " << step;
                ++hits[keeper.name + std::string(" in ") + name];
                genome = *child;
                // Whatever was added takes part from now on.
                for (float& weight : genome.weights) {
                    weight = weight == 0.0F ? 0.01F * rng.normal() : weight;
                }
            }
        }
    }
    for (const std::string network : {"dense", "dense mesh", "images", "images mesh", "lines"}) {
        for (const Keeper& keeper : keepers) {
            EXPECT_GT(hits[keeper.name + (" in " + network)], 0)
                << keeper.name << " in " << network;
        }
    }
    for (const std::string network : {"gates", "gates mesh", "blocks", "blocks mesh"}) {
        EXPECT_GT(hits["widen in " + network], 0) << network;
        EXPECT_GT(hits["insert in " + network], 0) << network;
    }
}

/// The last weights of the layer in a slot, in the weight vector.
WeightRange last_weights(const Network& network, int slot) {
    WeightRange last;
    const std::string start = "slot." + std::to_string(slot) + ".";
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const std::string name = network.weight_name(i);
        if (name.starts_with(start) && name.ends_with("weight")) {
            last = network.weights()[i];
        }
    }
    return last;
}

TEST(Growth, InsertedLayersOfEveryTypeLearnByGradientAtOnce) {
    const auto backend = make_reference_backend(Precision::f64);
    const std::string room = R"(, "grid": {"layers_per_cell": 2})";
    const std::array parents{
        growing_genome(R"([{"type": "dense", "out": 4, "activation": "tanh"}, {"type": "dense"}])",
                       3, room),
        growing_genome(R"([{"type": "conv1d", "out_channels": 2, "activation": "tanh"},
                           {"type": "dense"}])",
                       12, room + R"(, "input": [2, 6])"),
        growing_genome(R"([{"type": "conv2d", "out_channels": 2, "activation": "tanh"},
                           {"type": "dense"}])",
                       32, room + R"(, "input": [2, 4, 4])")};
    std::set<std::string> learning;
    for (const Genome& parent : parents) {
        for (const std::string_view type : layer_types()) {
            RandomStream rng = growth_stream(1);
            const auto child = mutated(insert_layer, rng, {.layer_types = {std::string(type)}},
                                       growth_limits, parent, 1);
            if (!child) {
                continue;
            }
            const Network network(child->blueprint);
            const Tensor gradient = test::train_gradient(*backend, network, child->weights,
                                                         test::some_inputs(network, 2, 3, 0));
            const WeightRange last = last_weights(network, 1);
            const auto of_last = std::span(gradient.elements)
                                     .subspan(static_cast<std::size_t>(last.offset),
                                              static_cast<std::size_t>(last.count));
            EXPECT_TRUE(std::ranges::any_of(of_last, [](double g) { return g != 0.0; })) << type;
            learning.emplace(type);
        }
    }
    for (const std::string type :
         {"dense", "rms_norm", "residual", "rnn", "lstm", "gru", "mgu", "ugrnn", "delta", "swiglu",
          "multi_head_attention", "mamba", "kmeans", "conv1d", "conv2d"}) {
        EXPECT_TRUE(learning.contains(type)) << type;
    }
}

TEST(Growth, EveryTypeIsWidenedOrSaysWhyNot) {
    std::set<std::string_view> wider;
    for (const std::string_view type : layer_types()) {
        const AnyLayer layer = default_layer(type).value();
        EXPECT_EQ(widened(layer, 2).has_value(), widening_fault(layer).empty()) << type;
        if (widened(layer, 2)) {
            wider.insert(type);
        }
    }
    EXPECT_EQ(wider, (std::set<std::string_view>{"dense", "rnn", "lstm", "gru", "mgu", "ugrnn",
                                                 "delta", "swiglu", "conv1d", "conv2d", "conv3d",
                                                 "conv_transpose1d", "conv_transpose2d",
                                                 "conv_transpose3d", "embedding", "mamba"}));
    MultiHeadAttention attention{.heads = 4, .kv_heads = 4};
    EXPECT_TRUE(widened(attention, 1).has_value());
    attention.kv_heads = 2;
    EXPECT_THAT(std::string(widening_fault(attention)), HasSubstr("share keys"));
    EXPECT_THAT(std::string(widening_fault(Conv2d{.groups = 2})), HasSubstr("groups"));
    EXPECT_THAT(std::string(widening_fault(RmsNorm())), HasSubstr("as wide as its input"));
}

TEST(Growth, DeepensAfterActivationsThatChangeNothingTwice) {
    for (const Activation activation : {Activation::identity, Activation::relu, Activation::tanh,
                                        Activation::sigmoid, Activation::silu, Activation::gelu}) {
        const bool idempotent =
            activation == Activation::identity || activation == Activation::relu;
        for (const AnyLayer& layer :
             {AnyLayer(Dense{.out = 3, .activation = activation}),
              AnyLayer(Conv1d{.out_channels = 3, .activation = activation}),
              AnyLayer(ConvTranspose3d{.out_channels = 3, .activation = activation})}) {
            EXPECT_EQ(deepening_fault(layer).empty(), idempotent) << layer.type();
            EXPECT_EQ(deeper(layer).has_value(), idempotent) << layer.type();
        }
    }
    EXPECT_THAT(std::string(deepening_fault(Dense{.activation = Activation::tanh})),
                HasSubstr("activation"));
    EXPECT_THAT(std::string(deepening_fault(Gru())), HasSubstr("gate"));
    EXPECT_THAT(std::string(deepening_fault(Softmax())), HasSubstr("no weights"));
}

TEST(Growth, DeepensWithABiasWhereTheLayerHasOne) {
    for (const bool bias : {false, true}) {
        const DeeperLayer dense = deeper(Dense{.out = 3, .bias = bias}).value();
        EXPECT_EQ(std::get<Dense>(dense.layer.variant()).bias, bias);
        EXPECT_EQ(dense.weights.size(), bias ? 12U : 9U);
        const DeeperLayer image = deeper(ConvTranspose2d{.out_channels = 2, .bias = bias}).value();
        EXPECT_EQ(std::get<Conv2d>(image.layer.variant()).bias, bias);
        EXPECT_EQ(image.weights.size(), bias ? 38U : 36U);
    }
}

TEST(Growth, NewLayersHaveFormatsOfTheirOwnAndNotOfTheHead) {
    Genome parent = growing_genome(R"([{"type": "dense", "out": 3}, {"type": "dense"}])", 2,
                                   R"(, "grid": {"layers_per_cell": 2})");
    parent.blueprint.head_formats.weights = Dtype::binary;
    parent.blueprint.slots[0]->formats.weights = Dtype::int8;
    MutationSettings settings;
    settings.layer_types = {"dense"};
    settings.formats = {.weights = Dtype::int4, .activations = Dtype::int8};
    const auto formats = [&](Mutation mutation) {
        RandomStream rng = growth_stream(1);
        const Genome child = mutated(mutation, rng, settings, growth_limits, parent, 1).value();
        return child.blueprint.slots[1]->formats;
    };
    EXPECT_EQ(formats(insert_layer), settings.formats);
    EXPECT_EQ(formats(deepen_layer), parent.blueprint.slots[0]->formats);
}

TEST(Growth, NothingIsWidenedBeforeANorm) {
    const Genome parent = growing_genome(
        R"([{"type": "dense", "out": 4}, {"type": "rms_norm"}, {"type": "dense"}])", 2);
    for (std::uint64_t id = 0; id < 30; ++id) {
        RandomStream rng = growth_stream(id);
        EXPECT_FALSE(mutated(widen_layer, rng, {}, growth_limits, parent, id).has_value());
    }
}

/// Its head would read what is new by the table, and not by zeros.
TEST(Growth, NoTableIsWidenedThatIsLent) {
    const std::string table = R"([{"type": "embedding", "vocabulary": 2, "features": 3}, )";
    const std::string tied = R"({"type": "dense", "tied": "slot.0.table"}])";
    const auto widths = [&](const std::string& rest) {
        const Genome parent = growing_genome(table + rest, 1);
        std::set<std::pair<std::int64_t, std::int64_t>> found;
        for (std::uint64_t id = 0; id < 120; ++id) {
            RandomStream rng = growth_stream(id);
            const auto child = mutated(widen_layer, rng, {}, growth_limits, parent, id);
            const Blueprint& blueprint = child.value_or(parent).blueprint;
            found.emplace(chain_shapes(blueprint)[1][0], chain_shapes(blueprint)[2][0]);
        }
        return found;
    };
    using Widths = std::set<std::pair<std::int64_t, std::int64_t>>;
    EXPECT_EQ(widths(R"({"type": "dropout"}, )" + tied), (Widths{{3, 3}}));
    EXPECT_GT(widths(R"({"type": "dropout"}, {"type": "dense"}])").size(), 1U);
    // What does not take the table is widened as before.
    const std::string between = R"({"type": "dense", "out": 5}, {"type": "dense", "out": 3}, )";
    EXPECT_EQ(widths(between + tied), (Widths{{3, 5}, {3, 6}, {3, 7}, {3, 8}, {3, 9}}));
}

TEST(Growth, IsBoundedByTheUnitsOfASetting) {
    const Genome parent = growing_genome(R"([{"type": "dense", "out": 4}, {"type": "dense"}])", 2);
    std::set<std::int64_t> widths;
    for (std::uint64_t id = 0; id < 60; ++id) {
        RandomStream rng = growth_stream(id);
        const Genome child =
            mutated(widen_layer, rng, {.layer_widen_units = 3}, growth_limits, parent, id).value();
        widths.insert(std::get<Dense>(child.blueprint.slots[0]->layer.variant()).out);
        EXPECT_EQ(child.slot_genes, parent.slot_genes);
    }
    EXPECT_EQ(widths, (std::set<std::int64_t>{5, 6, 7}));
}

TEST(GridGrowth, KeepsOrderLinksAndFunction) {
    const auto backend = make_reference_backend(Precision::f64);
    const Genome parent =
        growing_genome(R"([
        {"type": "dense", "out": 3, "at": [0, 0, 0, 0]}, {"type": "dense", "out": 3, "at": [0, 0, 0, 1]},
        {"type": "dense", "out": 3, "at": [0, 0, 1, 0]}, {"type": "dense", "out": 3, "at": [0, 0, 1, 1]},
        {"type": "dense"}])",
                       2, R"(, "grid": {"cols": 2, "layers_per_cell": 2}, "links": [
        {"source": "input", "target": 1}, {"source": 3, "target": 0, "kind": "backward"},
        {"source": 0, "target": "head"}])");
    const Tensor before = run(*backend, parent);
    EXPECT_FALSE(with_larger_grid(parent, 0, 5).has_value());
    std::set<int> places;
    for (int slot = 0; slot <= 4; ++slot) {
        const LargerGenome larger = with_larger_grid(parent, slot, 6).value();
        check(larger.genome);
        EXPECT_FALSE(larger.genome.blueprint.slots[static_cast<std::size_t>(larger.empty)]);
        places.insert(larger.empty);
        EXPECT_EQ(filled_slots(larger.genome.blueprint).size(), 4U);
        EXPECT_EQ(run(*backend, larger.genome).elements, before.elements) << slot;
    }
    EXPECT_EQ(places, (std::set<int>{0, 1, 3, 4, 5}));
}

TEST(GridGrowth, StopsAtTheLimitAndNeverHappensUnasked) {
    const Genome full = growing_genome(R"([{"type": "dense", "out": 2}, {"type": "dense"}])", 2,
                                       R"(, "grid": {"layers_per_cell": 1})");
    MutationSettings settings{.grid_limit = 3};
    settings.layer_types = {"dense"};
    RandomStream rng = growth_stream(0);
    EXPECT_FALSE(mutated(insert_layer, rng, {}, {}, full, 1).has_value());
    Genome genome = full;
    for (std::uint64_t step = 0; step < 8; ++step) {
        if (const auto child = mutated(insert_layer, rng, settings, {}, genome, step)) {
            genome = *child;
        }
    }
    EXPECT_EQ(genome.blueprint.grid.slots(), 3);
    EXPECT_EQ(filled_slots(genome.blueprint).size(), 3U);
}

}  // namespace
}  // namespace cambrian::evolve
