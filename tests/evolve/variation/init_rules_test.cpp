#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cambrian/evolve/variation/layer_change.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"
#include "cambrian/evolve/variation/new_layer.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"

// How fresh weights of evolution obey the rules of their layers.
namespace cambrian::evolve {
namespace {

Blueprint orthogonal_blueprint() {
    return blueprint_from_json(nlohmann::json::parse(R"({"init": "orthogonal", "layers": [
        {"type": "dense", "out": 5}, {"type": "dense", "out": 4, "init": "constant", "init_scale": 0.5},
        {"type": "dense"}]})"),
                               3, 2);
}

/// Whether the columns of a matrix [rows, columns], rows >= columns, are orthonormal.
void expect_orthonormal(std::span<const float> weights, std::int64_t rows, std::int64_t columns) {
    const auto at = [&](std::int64_t row, std::int64_t column) {
        return static_cast<double>(weights[static_cast<std::size_t>(row * columns + column)]);
    };
    for (std::int64_t a = 0; a < columns; ++a) {
        for (std::int64_t b = 0; b < columns; ++b) {
            double product = 0.0;
            for (std::int64_t row = 0; row < rows; ++row) {
                product += at(row, a) * at(row, b);
            }
            EXPECT_NEAR(product, a == b ? 1.0 : 0.0, 1e-6) << a << ' ' << b;
        }
    }
}

TEST(InitRules, FreshChildrenObeyThem) {
    RandomStream rng(random_key(4, "test"), 0);
    const Genome genome = sample_genome(orthogonal_blueprint(), rng, 0);
    expect_orthonormal(std::span(genome.weights).first(15), 5, 3);
    ChildPlan plan;
    plan.begin_fresh(std::make_shared<const Structure>(genome), rng.field());
    EXPECT_FALSE(plan.needs_host()) << "a device that holds weights makes it too";
    std::vector<float> weights;
    write_weights(plan, {}, {}, weights);
    ASSERT_EQ(weights.size(), genome.weights.size());
    expect_orthonormal(std::span(weights).first(15), 5, 3);
    for (std::size_t i = 20; i < 40; ++i) {
        EXPECT_EQ(weights[i], 0.5F) << i;
    }
    EXPECT_NE(weights[0], genome.weights[0]) << "another draw";
}

TEST(InitRules, NewLayersTakeThoseOfTheNetworkUnlessGiven) {
    MutationSettings settings;
    settings.rules.init = InitRule::orthogonal;
    EXPECT_EQ(new_layer("dense", {4}, {3}, settings)->rules.init, InitRule::orthogonal);
    EXPECT_TRUE(new_layer("rms_norm", {4}, {4}, settings)->rules.plain());
    AnyLayer given = Dense{.bias = false};
    given.rules.init = InitRule::xavier_normal;
    settings.layers = {given};
    const std::optional<AnyLayer> layer = new_layer("dense", {4}, {3}, settings);
    EXPECT_EQ(layer->rules.init, InitRule::xavier_normal);
    EXPECT_FALSE(std::get<Dense>(layer->variant()).bias);

    settings.layers.front().rules = {.init_scale = 0.5F};
    EXPECT_EQ(new_layer("dense", {4}, {3}, settings)->rules,
              (ParameterRules{.init = InitRule::orthogonal, .init_scale = 0.5F}));
}

TEST(InitRules, LayersKeepThemAsTheyGrow) {
    AnyLayer layer = Dense{.in = 3, .out = 4};
    layer.rules = {.init = InitRule::kaiming_normal, .init_scale = 0.5F, .decay = false};
    EXPECT_EQ(widened(layer, 2)->rules, layer.rules);
    EXPECT_EQ(deeper(layer)->layer.rules, layer.rules);
    for (const AnyLayer& next : field_changes(AnyLayer(layer), {3})) {
        EXPECT_EQ(next.rules, layer.rules);
    }
}

}  // namespace
}  // namespace cambrian::evolve
