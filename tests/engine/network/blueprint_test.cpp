#include "cambrian/engine/network/blueprint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/network_text.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian {
namespace {

using test::blueprint_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

template <class Error>
void refuses(const char* json, std::initializer_list<const char*> parts) {
    const auto read = [json] { static_cast<void>(blueprint_of(json, 3, 2)); };
    for (const char* part : parts) EXPECT_THAT(read, ThrowsMessage<Error>(HasSubstr(part))) << json;
}

TEST(NetworkText, IsNotWrittenWhereNobodyReadsIt) {
    EXPECT_NO_THROW(check_network_text("{}", "net.json"));
    constexpr std::size_t more = network_text_limits.length + 1;
    const auto longer = std::make_unique_for_overwrite<char[]>(more);
    EXPECT_THAT(
        [&] {
            check_network_text({longer.get(), more}, "net.json");
        },
        ThrowsMessage<ConfigError>(HasSubstr("net.json cannot be written")));
}

TEST(Blueprint, APlainListOfLayersIsANetwork) {
    const Blueprint blueprint = blueprint_of(R"({"layers": [{"type": "dense", "out": 16,
        "activation": "tanh"}, {"type": "layer_norm"}, {"type": "dense"}]})",
                                             3, 2);
    EXPECT_EQ(blueprint.grid, (GridSize{1, 1, 1, 4}));
    ASSERT_EQ(blueprint.slots.size(), 4U);
    EXPECT_EQ(blueprint.slots[0]->layer,
              AnyLayer(Dense{.in = 3, .out = 16, .activation = Activation::tanh}));
    EXPECT_EQ(blueprint.slots[1]->layer, AnyLayer(LayerNorm{.features = 16}));
    EXPECT_FALSE(blueprint.slots[2] || blueprint.slots[3]);
    EXPECT_EQ(blueprint.head, AnyLayer(Dense{.in = 16, .out = 2}));
    EXPECT_TRUE(blueprint.links.empty());
}

TEST(Blueprint, WithoutLayersItIsOneDenseHead) {
    EXPECT_EQ(blueprint_of("{}", 3, 2).head, AnyLayer(Dense{.in = 3, .out = 2}));
}

TEST(Blueprint, AGridLeftOutHoldsAllLayers) {
    const Blueprint blueprint = blueprint_of(R"({"layers": [{"type": "rms_norm"},
        {"type": "rms_norm"}, {"type": "rms_norm"}, {"type": "rms_norm"}, {"type": "rms_norm"},
        {"type": "dense"}]})",
                                             3, 2);
    EXPECT_EQ(blueprint.grid, (GridSize{1, 1, 1, 5}));
}

TEST(Blueprint, LayersGoWhereTheySay) {
    const Blueprint blueprint = blueprint_of(R"({"layers": [
        {"type": "dense", "out": 5, "at": [1, 0, 0, 1]}, {"type": "rms_norm"},
        {"type": "dense", "out": 4, "at": [0, 1, 0, 0]}, {"type": "dense"}],
        "grid": {"depth": 2, "rows": 2, "cols": 1, "layers_per_cell": 2}})",
                                             3, 2);
    std::vector<int> filled;
    for (std::size_t i = 0; i < blueprint.slots.size(); ++i) {
        if (blueprint.slots[i]) filled.push_back(static_cast<int>(i));
    }
    EXPECT_THAT(filled, ElementsAre(2, 5, 6));
    EXPECT_EQ(blueprint.slots[6]->layer.type(), "rms_norm");
    EXPECT_EQ(blueprint.slots[5]->layer, AnyLayer(Dense{.in = 4, .out = 5}));
}

TEST(Blueprint, LinksMayNameTheirEndsInEveryWay) {
    const Blueprint blueprint = blueprint_of(R"({"layers": [{"type": "dense", "out": 4},
        {"type": "rms_norm"}, {"type": "dense"}], "links": [
        {"source": [0, 0, 0, 1], "target": 0, "kind": "backward"},
        {"from": "input", "to": "head"}, {"source": 0, "target": 4, "kind": "forward"}]})",
                                             3, 2);
    EXPECT_THAT(blueprint.links,
                ElementsAre(Link{input_port, 4, LinkKind::forward}, Link{0, 4, LinkKind::forward},
                            Link{1, 0, LinkKind::backward}));
}

TEST(Blueprint, RefusesWhatItDoesNotKnow) {
    refuses<ConfigError>(R"({"layer": []})", {"network.layer", "did you mean \"layers\"?"});
    refuses<ConfigError>(R"({"layers": {}})", {"network.layers", "a list is needed"});
    refuses<ConfigError>(R"({"layers": []})", {"network.layers", "is empty"});
    refuses<ConfigError>(R"({"layers": [7]})", {"network.layers[0]", "is not a layer"});
    refuses<ConfigError>(R"({"layers": [{"type": "dense"}], "grid": {"row": 1}})",
                         {"network.grid.row", "did you mean \"rows\"?"});
    refuses<ConfigError>(R"({"layers": [{"type": "dense"}], "grid": {"rows": 0}})",
                         {"network.grid.rows", "is 0", "1 to 65536"});
    refuses<ConfigError>(R"({"grid": {"rows": 4096, "cols": 4096}})",
                         {"network.grid", "too large"});
    refuses<ConfigError>(R"([])", {"network", "an object is needed"});
}

TEST(Blueprint, RefusesLayersWithoutAPlace) {
    refuses<ConfigError>(
        R"({"layers": [{"type": "rms_norm"}, {"type": "rms_norm"}, {"type": "dense"}],
            "grid": {"layers_per_cell": 1}})",
        {"network.layers[1]", "has no slot", "1 slots"});
    refuses<ConfigError>(
        R"({"layers": [{"type": "rms_norm"}, {"type": "rms_norm", "at": [0, 0, 0, 0]},
            {"type": "dense"}]})",
        {"network.layers[1]", "falls on slot 0"});
    refuses<ConfigError>(
        R"({"layers": [{"type": "rms_norm", "at": [0, 0, 1, 0]}, {"type": "dense"}]})",
        {"network.layers[0].at[2]", "is 1", "0 to 0"});
    refuses<ConfigError>(R"({"layers": [{"type": "rms_norm", "at": [0, 0]}, {"type": "dense"}]})",
                         {"network.layers[0].at", "2 numbers"});
    refuses<ConfigError>(R"({"layers": [{"type": "dense", "at": [0, 0, 0, 0]}]})",
                         {"network.layers[0]", "head"});
}

TEST(Blueprint, RefusesBadLinks) {
    const auto refuses_link = [](const std::string& link,
                                 std::initializer_list<const char*> parts) {
        const std::string json =
            R"({"layers": [{"type": "dense", "out": 4}, {"type": "dense"}], "links": [)" + link +
            "]}";
        refuses<ConfigError>(json.c_str(), parts);
    };
    refuses_link(R"({"source": 0})", {"network.links[0]", "lacks an end", "target"});
    refuses_link(R"({"source": 0, "from": 0, "target": 4})", {"names an end twice"});
    refuses_link(R"({"source": 9, "target": 4})", {"network.links[0].source", "is 9"});
    refuses_link(R"({"source": "inptu", "target": 4})", {"did you mean \"input\"?"});
    refuses_link(R"({"source": 0, "target": 4, "kind": "sideways"})",
                 {"network.links[0].kind", "forward, backward"});
    refuses_link(R"({"source": 0, "target": 4}, {"source": 0, "target": "head"})",
                 {"network.links[1]", "repeats"});
}

TEST(Blueprint, RefusesWidthsThatDoNotFit) {
    refuses<ShapeError>(R"({"layers": [{"type": "dense"}, {"type": "dense"}]})",
                        {"slot 0", "dense", "no output width", "\"out\""});
    refuses<ShapeError>(R"({"layers": [{"type": "dense", "out": 5}]})", {"[.., 5]", "[.., 2]"});
    refuses<ShapeError>(R"({"layers": [{"type": "dense", "in": 9, "out": 5}, {"type": "dense"}]})",
                        {"slot 0", "[.., 9]", "[.., 3]"});
    refuses<ShapeError>(R"({"layers": [{"type": "rms_norm"}]})", {"head", "[.., 3]", "[.., 2]"});
}

TEST(Blueprint, PrintsEverything) {
    const auto json = to_json(blueprint_of(R"({"layers": [{"type": "dense", "out": 4},
        {"type": "rms_norm", "at": [0, 0, 0, 2]}, {"type": "dense"}],
        "links": [{"source": "input", "target": "head"}]})",
                                           3, 2));
    EXPECT_EQ(json["input_features"], 3);
    EXPECT_EQ(json["output_features"], 2);
    EXPECT_EQ(json["grid"]["layers_per_cell"], 4);
    ASSERT_EQ(json["layers"].size(), 2U);
    EXPECT_EQ(json["layers"][1]["at"], nlohmann::json::parse("[0, 0, 0, 2]"));
    EXPECT_EQ(json["layers"][1]["features"], 4);
    EXPECT_EQ(json["layers"][1]["enabled"], true);
    EXPECT_EQ(json["head"]["out"], 2);
    EXPECT_EQ(json["links"][0]["source"], "input");
    EXPECT_EQ(json["links"][0]["target"], "head");
    EXPECT_EQ(json["links"][0]["kind"], "forward");
}

}  // namespace
}  // namespace cambrian
