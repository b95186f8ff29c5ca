#include "cambrian/launch/show/structure_text.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>

namespace cambrian::launch {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string dot_of(const char* section, const std::string& title = "a network") {
    return graphviz_text(Network(blueprint_from_json(nlohmann::json::parse(section))), title);
}

/// How often a text occurs in another.
std::size_t count(const std::string& text, const std::string& part) {
    std::size_t result = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++result;
    return result;
}

/// The text without what stands in quotes, whose quotes are checked to come in pairs.
std::string outside_quotes(const std::string& text) {
    std::string result;
    bool inside = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (inside && text[i] == '\\') {
            ++i;
            continue;
        }
        if (text[i] == '"')
            inside = !inside;
        else if (!inside)
            result += text[i];
    }
    EXPECT_FALSE(inside) << "a quote is left open";
    return result;
}

void expect_balanced(const std::string& dot) {
    int open = 0;
    for (const char c : outside_quotes(dot)) {
        open += c == '{' ? 1 : (c == '}' ? -1 : 0);
        ASSERT_GE(open, 0);
    }
    EXPECT_EQ(open, 0);
}

constexpr const char* rich = R"({
    "input": [3], "grid": {"depth": 2, "rows": 1, "cols": 2, "layers_per_cell": 2},
    "layers": [
        {"type": "dense", "out": 4, "activation": "tanh", "at": [0, 0, 0, 0]},
        {"type": "rms_norm", "at": [0, 0, 1, 1], "enabled": false},
        {"type": "sequential", "at": [1, 0, 0, 0], "layers": [
            {"type": "dense", "out": 5, "activation": "relu"},
            {"type": "parallel", "combine": "filter", "gate": {"type": "dense"}, "branches": [
                {"type": "rms_norm"}, {"type": "layer_norm"}]}]},
        {"type": "dense", "out": 2}],
    "links": [{"source": "input", "target": 3}, {"source": 3, "target": 4, "kind": "forward"},
              {"source": 4, "target": 0, "kind": "backward"}]})";

TEST(StructureDot, ShowsEverySlotAndEveryLinkOnce) {
    const std::string dot = dot_of(rich);
    expect_balanced(dot);
    for (const char* node : {"input", "slot0", "slot1", "slot2", "slot3", "slot4", "slot5", "slot6",
                             "slot7", "head", "output"})
        EXPECT_EQ(count(dot, "  " + std::string(node) + " ["), 1U) << node;
    for (const char* chain :
         {"input -> slot0 [weight=10, label=\"3\"]", "slot0 -> slot3 [weight=10, label=\"4\"]",
          "slot3 -> slot4 [weight=10, label=\"4\"]", "slot4 -> head [weight=10, label=\"5\"]",
          "head -> output [weight=10, label=\"2\"]"})
        EXPECT_EQ(count(dot, chain), 1U) << chain;
    EXPECT_EQ(count(dot,
                    "input -> slot3 [color=blue, weight=1, "
                    "label=\"forward\\nprojection 4x3\"]"),
              1U);
    EXPECT_EQ(count(dot, "slot3 -> slot4 [color=blue, weight=1, label=\"forward\\ngain 4\"]"), 1U);
    EXPECT_EQ(count(dot,
                    "slot4 -> slot0 [color=red, style=dashed, constraint=false, "
                    "label=\"backward\\nprojection 3x5\"]"),
              1U);
    EXPECT_EQ(count(dot, "color=blue") + count(dot, "color=red"), 3U);
}

TEST(StructureDot, CellsAreClustersWithTheirSlots) {
    const std::string dot = dot_of(rich);
    for (const char* label : {"\"depth 0\"", "\"depth 1\"", "\"depth 0, row 0, column 1\"",
                              "\"depth 1, row 0, column 1\""})
        EXPECT_EQ(count(dot, std::string("label=") + label), 1U) << label;
    EXPECT_EQ(count(dot, "subgraph \"cluster_cell"), 4U);
    EXPECT_THAT(dot, HasSubstr("slot0 [label=\"slot 0 [0 0 0 0]\\ndense\\ntanh\"];"));
    EXPECT_THAT(dot, HasSubstr("slot3 [label=\"slot 3 [0 0 1 1]\\nrms_norm\", style=dashed];"));
    EXPECT_THAT(dot, HasSubstr("slot7 [label=\"slot 7 [1 0 1 1]\\nempty\", style=dotted"));
    const std::size_t cell = dot.find("\"cluster_cell1\"");
    const std::string inside = dot.substr(cell, dot.find("\"cluster_depth1\"") - cell);
    EXPECT_THAT(inside, HasSubstr("slot3 ["));
    EXPECT_THAT(inside, Not(HasSubstr("slot4 [")));
}

TEST(StructureDot, ContainersHoldTheirLayers) {
    const std::string dot = dot_of(rich);
    const std::size_t cluster = dot.find("subgraph \"cluster_slot4\"");
    ASSERT_NE(cluster, std::string::npos);
    const std::string inside = dot.substr(cluster, dot.find("slot5 [") - cluster);
    for (const char* part : {"slot4 [label=\"slot 4 [1 0 0 0]\\nsequential\"]",
                             "\"slot4.layers.0\" [label=\"layers.0\\ndense\\nrelu\"",
                             "\"slot4.layers.1\" [label=\"layers.1\\nparallel\"",
                             "\"slot4.layers.1.branches.1\" [label=\"branches.1\\nlayer_norm\"",
                             "\"slot4.layers.1.gate\" [label=\"gate\\ndense\\nlinear\"",
                             "\"slot4.layers.0\" -> \"slot4.layers.1\" [style=dotted, label=\"5\"]",
                             "\"slot4.layers.1\" -> \"slot4.layers.1.branches.0\""})
        EXPECT_EQ(count(inside, part), 1U) << part;
}

TEST(StructureDot, LargeGridsShowOnlyWhatIsThere) {
    const std::string dot = dot_of(R"({"input": [2, 3, 3], "mode": "mesh",
        "grid": {"depth": 1, "rows": 10, "cols": 10, "layers_per_cell": 1},
        "layers": [{"type": "conv2d", "out_channels": 4, "at": [0, 9, 9, 0]},
                   {"type": "dense", "out": 1}]})");
    expect_balanced(dot);
    EXPECT_EQ(count(dot, "subgraph "), 1U);
    EXPECT_THAT(dot, Not(HasSubstr("empty")));
    EXPECT_THAT(dot, HasSubstr("input -> slot99 [weight=10, label=\"2x3x3\"]"));
    EXPECT_THAT(dot, HasSubstr("slot99 -> head [weight=10, label=\"4x1x1\"]"));
    EXPECT_THAT(dot, HasSubstr("mesh: every edge takes a step"));
}

TEST(StructureDot, EscapesTheTitle) {
    const std::string dot =
        dot_of(R"({"input": [1], "layers": [{"type": "dense", "out": 1}]})", "a \"b\" {\\\nc");
    expect_balanced(dot);
    EXPECT_THAT(dot, HasSubstr(R"(label="a \"b\" {\\\nc";)"));
}

}  // namespace
}  // namespace cambrian::launch
