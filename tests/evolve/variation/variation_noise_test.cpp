#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cambrian/evolve/variation/variation.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"

namespace cambrian::evolve::variation_noise_test {
namespace {

/// A wide network, whose children differ by noise on all weights alone.
VariationSettings noise_alone() {
    VariationSettings settings;
    settings.founder = testing::blueprint(40, {{"dense", 60}}, 40);
    settings.mutation = {.weight_rate = 1.0F,
                         .activation_rate = 0.0F,
                         .layer_type_rate = 0.0F,
                         .layer_insert_rate = 0.0F,
                         .layer_toggle_rate = 0.0F,
                         .link_add_rate = 0.0F,
                         .link_drop_rate = 0.0F};
    return settings;
}

/// The deviation of a child's weights from those of its parent.
double deviation(const VariationSettings& settings, BirthId id, std::uint32_t island = 0) {
    const Genome parent = testing::founder(settings.founder);
    const Birth birth{
        .id = id, .recipe = Recipe::vary, .parents = {{.fitness = 1.0}}, .island = island};
    const Genome child = Variation(4, settings).materialise(birth, std::array{&parent}).genome;
    EXPECT_EQ(child.blueprint, parent.blueprint);
    double squares = 0.0;
    for (std::size_t i = 0; i < parent.weights.size(); ++i) {
        squares += std::pow(static_cast<double>(child.weights.at(i) - parent.weights[i]), 2);
    }
    return std::sqrt(squares / static_cast<double>(parent.weights.size()));
}

TEST(Variation, ChildrenHaveTheNoiseThatTheScheduleHasForTheirBirth) {
    VariationSettings settings = noise_alone();
    settings.mutation.weight_power = 0.5F;
    settings.mutation.weight_power_end = 0.125F;
    settings.mutation.weight_power_births = 100;
    settings.mutation.weight_power_schedule = WeightPowerSchedule::linear;
    EXPECT_NEAR(deviation(settings, 0), 0.5, 0.025);
    EXPECT_NEAR(deviation(settings, 50), 0.3125, 0.0156);
    EXPECT_NEAR(deviation(settings, 1000), 0.125, 0.00625);
}

TEST(Variation, ChildrenVaryByTheSettingsOfTheirIsland) {
    VariationSettings settings = noise_alone();
    settings.islands.assign(2, IslandVariation{settings.mutation, settings.splice});
    settings.islands[0].mutation.weight_rate = 0.0F;
    settings.islands[1].mutation.weight_power = 1.0F;
    EXPECT_EQ(deviation(settings, 7, 0), 0.0);
    EXPECT_NEAR(deviation(settings, 7, 1), 1.0, 0.05);
}

}  // namespace
}  // namespace cambrian::evolve::variation_noise_test
