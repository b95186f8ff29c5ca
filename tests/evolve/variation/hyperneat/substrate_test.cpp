#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/variation/hyperneat/substrate.hpp"
#include "cambrian/tests/evolve/support/hyperneat_support.hpp"

namespace cambrian::evolve {
namespace {

using testing::at;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

void expect_refused(SubstrateSettings settings, const char* text) {
    EXPECT_THAT([&] { static_cast<void>(Substrate(std::move(settings), 2, 1, false)); },
                ThrowsMessage<ConfigError>(HasSubstr(text)));
}

TEST(Substrate, SpacesNodesEvenly) {
    SubstrateSettings settings;
    settings.hidden = {{.shape = {3}}, {.shape = {1}}};
    const Substrate plane(settings, 2, 1, false);
    using Point = SubstratePoint;
    EXPECT_THAT(plane.inputs(), ElementsAre(Point{-1, -1, 0}, Point{1, -1, 0}));
    const float third = static_cast<float>(-1.0 + 2.0 / 3.0);
    EXPECT_THAT(plane.layers()[1],
                ElementsAre(Point{-1, third, 0}, Point{0, third, 0}, Point{1, third, 0}));
    EXPECT_THAT(plane.outputs(), ElementsAre(Point{0, 1, 0}));

    settings.dimensions = 3;
    settings.hidden.clear();
    settings.inputs = {.shape = {2, 3}, .from = {-1, -0.5, -1}, .to = {1, 0.5, -1}};
    const Substrate space(settings, 6, 1, false);
    EXPECT_THAT(space.inputs(),
                ElementsAre(Point{-1, -0.5, -1}, Point{1, -0.5, -1}, Point{-1, 0, -1},
                            Point{1, 0, -1}, Point{-1, 0.5, -1}, Point{1, 0.5, -1}));
    EXPECT_THAT(space.outputs(), ElementsAre(Point{0, 0, 1}));
}

TEST(Substrate, RefusesNodesThatDoNotFit) {
    expect_refused({.inputs = at({{0, 0}})}, "inputs has 1 nodes (the task has 2 of them)");
    expect_refused({.inputs = at({{0, 0}, {0, 0}})}, "inputs has two nodes at (0, 0)");
    expect_refused({.inputs = at({{0, 0}, {1}})},
                   "inputs.nodes[1] has 1 coordinates (genome.substrate.dimensions is 2)");
    expect_refused({.inputs = {.nodes = {{0, 0}, {1, 0}}, .shape = {2}}},
                   "inputs.nodes is given beside");
    expect_refused({.hidden = {{}}}, "hidden[0].shape has 0 entries");
    expect_refused({.hidden = {{.shape = {1, 1, 1}}}}, "hidden[0].shape has 3 entries");
    expect_refused({.hidden = {{.shape = {2}, .from = {1}}}}, "hidden[0].from has 1 coordinates");
    expect_refused({.hidden = {{.shape = {65536, 65536}}}}, "hidden[0].shape has more than");
    expect_refused({.hidden = {{.shape = {2048}}, {.shape = {2048}}}}, "possible connections");
}

TEST(Substrate, RefusesKeysThatContradictEachOther) {
    using enum SubstrateType;
    expect_refused({.type = evolved, .hidden = {{.shape = {1}}}},
                   "hidden is set (genome.substrate.type is \"evolved\"");
    expect_refused({.type = evolved, .links = SubstrateLinks::later}, "links is set");
    expect_refused({.search = {.iteration_level = 2}},
                   "search is set (genome.substrate.type is \"layers\"");
    expect_refused({.type = evolved, .dimensions = 3}, "dimensions is 3");
    expect_refused({.type = evolved, .search = {.initial_depth = 4}}, "raise maximum_depth");
    expect_refused({.type = evolved, .search = {.maximum_depth = 7, .maximum_nodes = 65536}},
                   "maximum_nodes 65536");
    expect_refused({.recurrent = true}, "the task has no time");
    expect_refused({.locality = {SubstrateAxis::x}}, "link_expression is false");
    expect_refused({.link_expression = true, .locality = {SubstrateAxis::z}},
                   "names an axis twice, or one that is not there");
    expect_refused({.link_expression = true, .locality = {SubstrateAxis::x, SubstrateAxis::x}},
                   "names an axis twice");
}

}  // namespace
}  // namespace cambrian::evolve
