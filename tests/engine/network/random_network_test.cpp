#include "cambrian/engine/network/builders/builders.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/layers/normalisation/softmax_variants.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/support/all_cases.hpp"
#include "cambrian/tests/support/network_passes.hpp"

namespace cambrian {
namespace {

std::uint64_t networks() {
    return test::asked("CAMBRIAN_RANDOM_NETWORKS", 300);
}

/// Settings and ends of the network with a number: ids in every fourth, time in two of three.
struct Draw {
    explicit Draw(std::uint64_t number) : rng(random_key(11, "test networks"), number) {
        settings.vocabulary = number % 4 == 3 ? 6 : 0;
        ends.input_features = 1 + static_cast<std::int64_t>(rng.index(24));
        ends.output_features = 1 + static_cast<std::int64_t>(rng.index(6));
        ends.time = number % 3 != 0;
    }
    Blueprint blueprint() { return draw_network(rng, settings, ends); }

    RandomStream rng;
    RandomNetwork settings{.max_elements = 32, .max_weights = 2048};
    NetworkEnds ends;
};

/// What networks hold.
struct Variety {
    std::set<std::string> types;
    std::set<std::string> variants;
    std::set<std::string> combinations;
    std::set<std::string> traits;

    void note(const AnyLayer& layer, int depth) {
        types.emplace(layer.type());
        if (const auto* softmax = std::get_if<Softmax>(&layer.variant()))
            variants.insert(softmax->variant);
        if (const auto* parallel = std::get_if<Parallel>(&layer.variant()))
            combinations.insert(parallel->combine);
        if (depth == 3) traits.insert("layers in layers in layers");
        layer.each_inner([&](const AnyLayer& inner) { note(inner, depth + 1); });
    }
    void note(const Blueprint& blueprint) {
        const auto trait = [&](bool there, const char* name) {
            if (there) traits.insert(name);
        };
        for (const auto& slot : blueprint.slots) {
            if (!slot) continue;
            note(slot->layer, 1);
            trait(!slot->enabled, "a disabled slot");
        }
        note(blueprint.head, 1);
        trait(blueprint.mode == NetworkMode::mesh, "a mesh");
        const GridSize& grid = blueprint.grid;
        trait(grid.depth > 1 && grid.rows > 1 && grid.cols > 1, "a grid of all axes");
        trait(Network(blueprint).stateful(), "a state");
        for (const Link& link : blueprint.links)
            trait(true, link.kind == LinkKind::forward ? "a forward link" : "a backward link");
        for (int rank = 1; rank <= 4; ++rank)
            trait(input_row(blueprint).rank() == rank,
                  std::array{"a vector", "a line", "an image",
                             "a volume"}[static_cast<std::size_t>(rank - 1)]);
    }
};

TEST(RandomNetworks, LeaveNothingOut) {
    Variety variety;
    for (std::uint64_t number = 0; number < 600; ++number) variety.note(Draw(number).blueprint());
    EXPECT_EQ(variety.types, std::set<std::string>(layer_types().begin(), layer_types().end()));
    std::set<std::string> variants;
    for (const SoftmaxVariant& row : softmax_variants()) variants.emplace(row.name);
    EXPECT_EQ(variety.variants, variants);
    EXPECT_EQ(variety.combinations,
              (std::set<std::string>{"concat", "add", "average", "filter", "grid_scatter"}));
    EXPECT_EQ(
        variety.traits,
        (std::set<std::string>{"layers in layers in layers", "a disabled slot", "a mesh",
                               "a grid of all axes", "a state", "a forward link", "a backward link",
                               "a vector", "a line", "an image", "a volume"}));
}

TEST(RandomNetworks, OfOneStreamAreEqualAndOfOthersDiffer) {
    const Blueprint first = Draw(1).blueprint();
    EXPECT_EQ(Draw(1).blueprint(), first);
    EXPECT_NE(Draw(2).blueprint(), first);
}

TEST(RandomNetworks, HoldOnlyTypesThatAreAllowed) {
    for (std::uint64_t number = 0; number < 50; ++number) {
        Draw draw(number);
        draw.settings.vocabulary = 0;
        draw.settings.layer_types = {"gru", "layer_norm"};
        draw.settings.max_layers = 3;
        const Blueprint blueprint = draw.blueprint();
        EXPECT_TRUE(draw.ends.time || !Network(blueprint).stateful());
        int filled = 0;
        for (const auto& slot : blueprint.slots) {
            if (!slot) continue;
            ++filled;
            EXPECT_TRUE(slot->layer.type() == "gru" || slot->layer.type() == "layer_norm");
        }
        EXPECT_GE(filled, 1);
        EXPECT_LE(filled, 3);
    }
}

TEST(RandomNetworks, AllRun) {
    const auto backend = make_cpu_backend({});
    constexpr std::int64_t rows = 3;
    constexpr std::int64_t time = 2;
    std::uint64_t overflows = 0;
    for (std::uint64_t number = 0; number < networks(); ++number) {
        Draw draw(number);
        const Blueprint blueprint = draw.blueprint();
        SCOPED_TRACE("network " + std::to_string(number) + ": " + to_json(blueprint).dump());
        const Network network(blueprint);
        ASSERT_EQ(network.blueprint(), blueprint);
        ASSERT_EQ(test::through_json(blueprint), blueprint);
        ASSERT_EQ(test::through_archive(blueprint), blueprint);
        const std::vector<float> weights = test::start_weights(network, number);
        const Tensor x = test::some_inputs(network, rows, time, draw.settings.vocabulary);
        const Tensor y = test::infer(*backend, network, weights, x);
        ASSERT_EQ(y.shape, (Shape{rows, time, blueprint.output_features}));
        if (!test::all_finite(y)) {
            // Gates that multiply what they are given outgrow floats.
            ++overflows;
            ASSERT_TRUE(test::all_finite(
                test::infer(*make_reference_backend(Precision::f64), network, weights, x)));
            continue;
        }
        ASSERT_EQ(test::infer(*backend, network, weights, x).elements, y.elements);
        const Tensor gradient = test::train_gradient(*backend, network, weights, x);
        ASSERT_EQ(gradient.shape, (Shape{network.weight_count()}));
        ASSERT_EQ(test::train_gradient(*backend, network, weights, x).elements, gradient.elements);
    }
    EXPECT_LE(overflows, networks() / 100) << "of " << networks() << " networks";
}

}  // namespace
}  // namespace cambrian
