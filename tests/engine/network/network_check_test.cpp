#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/tests/support/network_run.hpp"

// What a network refuses to be built from, and what it says.
namespace cambrian {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

auto refuses(const Blueprint& blueprint, std::vector<std::string> parts) {
    const auto build = [blueprint] { static_cast<void>(Network(blueprint)); };
    for (const std::string& part : parts)
        EXPECT_THAT(build, ThrowsMessage<ShapeError>(HasSubstr(part)));
}

Blueprint two_layers() {
    return test::blueprint_of(
        R"({"layers": [{"type": "dense", "out": 4}, {"type": "rms_norm"}, {"type": "dense"}],
            "grid": {"rows": 2, "layers_per_cell": 2}})",
        3, 2);
}

TEST(NetworkCheck, NamesSlotLayerAndBothShapes) {
    Blueprint blueprint = two_layers();
    blueprint.slots[2] = Slot{.layer = Dense{.in = 7, .out = 4}};
    refuses(blueprint, {"slot 2", "[0, 1, 0, 0]", "dense", "[.., 7]", "[.., 4]"});
}

TEST(NetworkCheck, NamesTheLayerInsideAContainer) {
    Blueprint blueprint = two_layers();
    Sequential inner;
    inner.layers.emplace_back(Dense{.out = 5});
    inner.layers.emplace_back(RmsNorm{.features = 6});
    blueprint.slots[2] = Slot{.layer = inner};
    refuses(blueprint, {"slot 2", "layer 1 of sequential", "rms_norm", "[.., 6]", "[.., 5]"});
}

TEST(NetworkCheck, NamesBothWidthsOfAHeadThatDoesNotFit) {
    Blueprint blueprint = two_layers();
    blueprint.head = Dense{.out = 3};
    refuses(blueprint, {"head", "dense", "[.., 3]", "[.., 2]"});
}

TEST(NetworkCheck, RefusesToDisableALayerThatChangesTheWidth) {
    Blueprint blueprint = two_layers();
    blueprint.slots[0]->enabled = false;
    refuses(blueprint, {"slot 0", "disabled", "[.., 3]", "[.., 4]"});
}

TEST(NetworkCheck, RefusesAResidualThatChangesTheWidth) {
    Blueprint blueprint = two_layers();
    Residual residual;
    residual.layers.emplace_back(Dense{.in = 4, .out = 5});
    blueprint.slots[2] = Slot{.layer = residual};
    refuses(blueprint, {"slot 2", "residual", "[.., 5]", "[.., 4]"});
}

TEST(NetworkCheck, RefusesAnEmptyResidualWithoutAFittingPredecessor) {
    Blueprint blueprint = two_layers();
    blueprint.slots[1] = Slot{.layer = Residual{}};
    refuses(blueprint, {"slot 1", "empty residual", "[.., 3]", "[.., 4]"});
    blueprint.slots[0] = Slot{.layer = Residual{}};
    refuses(blueprint, {"slot 0", "begins the chain"});
    Sequential inner;
    inner.layers.emplace_back(Residual{});
    blueprint.slots[0] = Slot{.layer = inner};
    refuses(blueprint, {"slot 0", "layer 0 of sequential", "begins the chain"});
}

TEST(NetworkCheck, RefusesDeepNesting) {
    AnyLayer layer = Dense{.out = 4};
    for (int level = 2; level <= 17; ++level) {
        Sequential outer;
        outer.layers.push_back(layer);
        layer = outer;
        Blueprint blueprint = two_layers();
        blueprint.slots[2] = Slot{.layer = layer};
        if (level <= 16) {
            EXPECT_NO_THROW(static_cast<void>(Network(blueprint))) << level;
        } else {
            refuses(blueprint, {"slot 2", "nested too deeply"});
        }
    }
}

TEST(NetworkCheck, RefusesLinksWhoseEndsDoNotExist) {
    const auto refuses_link = [](Link link, std::string why) {
        Blueprint blueprint = two_layers();
        blueprint.links = {link};
        refuses(blueprint, {std::move(why)});
    };
    constexpr LinkKind backward = LinkKind::backward;
    refuses_link({.source = 2, .target = 4}, "starts at the input or at a filled slot");
    refuses_link({.source = -2, .target = 4}, "starts at the input or at a filled slot");
    refuses_link({.source = 0, .target = 3}, "ends at a filled slot or at the head");
    refuses_link({.source = 0, .target = 5}, "ends at a filled slot or at the head");
    refuses_link({.source = 1, .target = 1}, "runs with the index order");
    refuses_link({.source = 1, .target = 0}, "runs with the index order");
    refuses_link({.source = 0, .target = 1, .kind = backward}, "runs against the index order");
    refuses_link({.source = input_port, .target = 1, .kind = backward}, "starts at a filled slot");
    refuses_link({.source = 4, .target = 1, .kind = backward}, "starts at a filled slot");
    refuses_link({.source = 1, .target = 4, .kind = backward}, "ends at a filled slot");
}

TEST(NetworkCheck, RefusesUnsortedAndRepeatedLinks) {
    Blueprint blueprint = two_layers();
    blueprint.links = {{.source = 0, .target = 4}, {.source = 0, .target = 1}};
    refuses(blueprint, {"sorted"});
    blueprint.links = {{.source = 0, .target = 4}, {.source = 0, .target = 4}};
    refuses(blueprint, {"no two equal"});
}

TEST(NetworkCheck, RefusesImpossibleSizes) {
    Blueprint blueprint = two_layers();
    blueprint.slots.pop_back();
    refuses(blueprint, {"3 slots", "4"});
    blueprint = two_layers();
    blueprint.input_features = 0;
    refuses(blueprint, {"0 input features"});
    blueprint = two_layers();
    blueprint.grid.depth = 0;
    refuses(blueprint, {"extent of 0"});
    blueprint.grid = {
        .depth = 2'000'000'000, .rows = 2'000'000'000, .cols = 2, .layers_per_cell = 1};
    refuses(blueprint, {"too large"});
    blueprint = two_layers();
    blueprint.slots[2] = Slot{.layer = Dense{.out = std::int64_t{1} << 40}};
    refuses(blueprint, {"slot 2", "1099511627776"});
    blueprint.slots[2] = Slot{.layer = Rnn{{.hidden = std::int64_t{1} << 24}}};
    blueprint.head = Dense{.out = 2};
    refuses(blueprint, {"2^40 weights"});
}

TEST(GridSize, IndexesInDepthRowColumnLayerOrder) {
    const GridSize grid{.depth = 2, .rows = 3, .cols = 4, .layers_per_cell = 5};
    int expected = 0;
    for (int z = 0; z < 2; ++z)
        for (int y = 0; y < 3; ++y)
            for (int x = 0; x < 4; ++x)
                for (int l = 0; l < 5; ++l) {
                    EXPECT_EQ(grid.index(z, y, x, l), expected);
                    EXPECT_EQ(grid.coordinates(expected), (std::array{z, y, x, l}));
                    ++expected;
                }
    EXPECT_EQ(grid.slots(), expected);
}

TEST(GridSize, ChecksEveryCoordinateByItself) {
    const GridSize grid{.depth = 2, .rows = 3, .cols = 4, .layers_per_cell = 5};
    const auto refuses_place = [&grid](std::array<int, 4> place, const std::string& text) {
        const auto index = [&] {
            static_cast<void>(grid.index(place[0], place[1], place[2], place[3]));
        };
        EXPECT_THAT(index, ThrowsMessage<ShapeError>(HasSubstr(text)));
    };
    refuses_place({2, 0, 0, 0}, "z = 2");
    refuses_place({0, 3, 0, 0}, "y = 3");
    refuses_place({0, 0, 4, 0}, "x = 4");
    refuses_place({0, 0, 0, 5}, "l = 5");
    refuses_place({-1, 0, 0, 0}, "z = -1");
    refuses_place({1, 0, -1, 0}, "x = -1");
    EXPECT_THROW(static_cast<void>(grid.coordinates(120)), ShapeError);
    EXPECT_THROW(static_cast<void>(grid.coordinates(-1)), ShapeError);
}

}  // namespace
}  // namespace cambrian
