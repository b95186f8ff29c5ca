#include <gtest/gtest.h>

#include "cambrian/tests/launch/remedies/remedies_support.hpp"

// Remedies of the network in a config: layers, links and builders.
namespace cambrian::launch::remedies_network_test {
namespace {

using test::RemedyRow;

const std::string config = "config.json";

/// A config of exclusive or with a network.
std::string network_config(const std::string& keys) {
    return test::task_config("xor", "", R"("network": {)" + keys + "}");
}

const std::vector<RemedyRow>& network_rows() {
    const std::string two_layers =
        R"("layers": [{"type": "dense", "out": 3}, {"type": "dense"}], )";
    const std::string transformer = R"("build": {"type": "transformer", "features": 4, "heads": 2)";
    static const std::vector<RemedyRow> table{
        {"NoLayers",
         network_config(R"("layers": [])"),
         "network.layers is [] (allowed: a list of",
         "see 'cambrian explain network.layers'",
         {{config, "[]", R"([{"type": "dense"}])"}}},
        {"UnknownFormat",
         network_config(R"("dtype": "int5")"),
         R"(network.dtype is "int5")",
         "",
         {{config, "int5", "int4"}}},
        {"UnknownFormatOfALayer",
         network_config(R"("layers": [{"type": "dense", "activation_dtype": "half"}])"),
         "activation_dtype",
         "",
         {{config, R"("half")", R"("fp16")"}}},
        {"HeadWithAPlace",
         network_config(R"("layers": [{"type": "dense", "at": [0, 0, 0, 0]}])"),
         "the last layer is the head, outside the grid",
         R"(remove "at")",
         {{config, R"(, "at": [0, 0, 0, 0])", ""}}},
        {"InitOfANorm",
         network_config(R"("layers": [{"type": "rms_norm", "init": "zeros"}, {"type": "dense"}])"),
         "network.layers[0].init is not a known key",
         "",
         {{config, R"(, "init": "zeros")", ""}}},
        {"UnknownInit",
         network_config(R"("init": "ortogonal")"),
         R"(network.init is "ortogonal")",
         "",
         {{config, "ortogonal", "orthogonal"}}},
        {"ShortPlace",
         network_config(
             R"("layers": [{"type": "dense", "out": 3, "at": [0, 0, 0, 0]}, {"type": "dense"}],
                           "links": [{"from": [0, 0, 0], "to": "head"}])"),
         "[z, y, x, l]",
         "",
         {{config, "[0, 0, 0],", "[0, 0, 0, 0],"}}},
        {"SmallGrid",
         network_config(R"("grid": {"layers_per_cell": 1}, "layers": [{"type": "dense", "out": 3},
             {"type": "dense", "out": 3}, {"type": "dense"}])"),
         "network.layers[1] has no slot",
         "make the grid larger",
         {{config, R"("layers_per_cell": 1)", R"("layers_per_cell": 2)"}}},
        {"TwoLayersInASlot",
         network_config(R"("layers": [{"type": "dense", "out": 3}, {"type": "dense", "out": 3,
             "at": [0, 0, 0, 0]}, {"type": "dense"}])"),
         "network.layers[1] falls on slot 0",
         R"(give it another place with "at")",
         {{config, "[0, 0, 0, 0]", "[0, 0, 0, 2]"}}},
        {"LargeGrid",
         network_config(R"("grid": {"depth": 1000, "rows": 1000, "cols": 1000})"),
         "the grid is too large",
         "use smaller extents",
         {{config, R"("depth": 1000, "rows": 1000, "cols": 1000)", R"("depth": 2, "rows": 2)"}}},
        {"InputOfAnotherSize",
         network_config(R"("input": [3])"),
         "the network sees its input as",
         "choose an input of as many elements",
         {{config, "[3]", "[2]"}}},
        {"LinkWithoutEnd",
         network_config(two_layers + R"("links": [{"from": "input"}])"),
         "lacks an end",
         "write one of them",
         {{config, R"("from": "input")", R"("from": "input", "to": "head")"}}},
        {"LinkWithTwoEnds",
         network_config(two_layers +
                        R"("links": [{"from": "input", "to": "head", "target": "head"}])"),
         "names an end twice",
         "write one of them",
         {{config, R"(, "target": "head")", ""}}},
        {"LinkTwice",
         network_config(
             two_layers +
             R"("links": [{"from": "input", "to": "head"}, {"source": "input", "to": "head"}])"),
         "repeats a link",
         "remove it",
         {{config, R"(, {"source": "input", "to": "head"})", ""}}},
        {"LinkAgainstTheOrder",
         network_config(two_layers +
                        R"("links": [{"from": "input", "to": "head", "kind": "backward"}])"),
         "is not possible",
         "change its ends or its kind",
         {{config, "backward", "forward"}}},
        {"HeadOfAnotherWidth",
         network_config(R"("layers": [{"type": "dense", "out": 3}])"),
         "the head (dense) gives",
         "leave its output width out",
         {{config, R"(, "out": 3)", ""}}},
        {"WrongNorm",
         network_config(R"("build": {"type": "dense_stack", "norm": "norm"})"),
         R"(network.build.norm is "norm")",
         "",
         {{config, R"("norm": "norm")", R"("norm": "rms_norm")"}}},
        {"BuildBesideLayers",
         network_config(two_layers + R"("build": {"type": "dense_stack"})"),
         "network.layers is given beside network.build",
         "keep one of the two",
         {{config, two_layers, ""}}},
        {"EvenKernel",
         network_config(
             R"("input": [2, 1, 1], "build": {"type": "convolutional", "kernel": 2, "pool": "none"})"),
         "only an odd one keeps the extents",
         "change it",
         {{config, R"("kernel": 2)", R"("kernel": 3)"}}},
        {"NoExtents",
         network_config(R"("build": {"type": "convolutional", "pool": "none"})"),
         "network.input is missing",
         "write three extents",
         {{config, R"("build")", R"("input": [2, 1, 1], "build")"}}},
        {"PoolSmaller",
         network_config(
             R"("input": [2, 1, 1], "build": {"type": "convolutional", "channels": [2], "pool": "max", "pool_size": 2})"),
         "network.build.pool_size is 2",
         "use a smaller size",
         {{config, R"("pool_size": 2)", R"("pool_size": 1)"}}},
        {"PoolOfFewerStages",
         network_config(
             R"("input": [2, 1, 1], "build": {"type": "convolutional", "channels": [2], "pool": "max", "pool_size": 2})"),
         "network.build.pool_size is 2",
         R"(list fewer "channels")",
         {{config, R"("channels": [2])", R"("channels": [])"}}},
        {"HeadsThatDivideNothing",
         network_config(
             R"("input": [2, 1], "build": {"type": "transformer", "causal": false, "features": 4, "heads": 3})"),
         "it does not divide the 4 features",
         "change one of them",
         {{config, R"("heads": 3)", R"("heads": 2)"}}},
        {"CausalWithoutTime",
         network_config(R"("input": [2, 1], )" + transformer + R"(, "causal": true})"),
         "the task has no steps in time",
         "set it to false",
         {{config, "true", "false"}}},
        {"PositionsWithoutExtents",
         network_config(transformer + R"(, "causal": false})"),
         "network.input is missing (attention without causality sees [positions, features])",
         "write such extents, whose product is the inputs of the task",
         {{config, R"("build")", R"("input": [2, 1], "build")"}}},
        {"PositionsInTime",
         test::table_config(R"("inputs": ["a", "b"], "targets": ["y"], "sequence_length": 4)",
                            R"("network": {)" + transformer + R"(, "causal": false}})"),
         "network.input is missing",
         "or set network.build.causal to true",
         {{config, "false", "true"}}},
        {"ManyExtents",
         network_config(R"("input": [2, 1, 1, 1, 1])"),
         "network.input",
         "",
         {{config, "[2, 1, 1, 1, 1]", "[2, 1, 1, 1]"}}},
        {"KeyValueHeads",
         network_config(R"("input": [2, 1], )" + transformer +
                        R"(, "causal": false, "kv_heads": 3})"),
         "kv_heads is 3 (it does not divide the 2 heads)",
         "change it",
         {{config, R"("kv_heads": 3)", R"("kv_heads": 1)"}}},
        {"TurnedPairs",
         network_config(
             R"("input": [2, 1], "build": {"type": "transformer", "features": 6, "heads": 2,
             "causal": false, "rope_base": 100})"),
         "it turns pairs of elements and a head has 3",
         "use heads of even width",
         {{config, R"("features": 6)", R"("features": 8)"}}},
        {"GridOfABuilder",
         network_config(
             R"("grid": {"layers_per_cell": 1}, "build": {"type": "dense_stack", "widths": [3, 3]})"),
         "network.grid has 1 slots",
         "make it larger",
         {{config, R"("layers_per_cell": 1)", R"("layers_per_cell": 4)"}}},
        {"NarrowRandomNetworks",
         network_config(R"("build": {"type": "random", "layer_types": ["gru"]})"),
         "network.build.layer_types make no network",
         "allow more types",
         {{config, R"("gru")", R"("gru", "dense")"}}},
        {"UnknownTypeOfARandomNetwork",
         network_config(R"("build": {"type": "random", "layer_types": ["dens"]})"),
         R"(network.build.layer_types: "dens" is not a layer type)",
         R"(did you mean "dense"?)",
         {{config, R"("dens")", R"("dense")"}}},
        {"RandomMeshWithoutTime",
         network_config(R"("build": {"type": "random"}, "mode": "mesh")"),
         "network.mode is mesh (the task has no steps in time",
         "leave it out",
         {{config, R"(, "mode": "mesh")", ""}}},
        {"MeshWithoutTime",
         network_config(R"("mode": "mesh")"),
         "mode mesh of the network keeps state",
         "mode chain",
         {{config, "mesh", "chain"}}},
        {"BackwardWithoutTime",
         network_config(
             two_layers +
             R"("links": [{"from": [0, 0, 0, 0], "to": [0, 0, 0, 0], "kind": "backward"}])"),
         "keeps state",
         "forward links",
         {{config, R"("to": [0, 0, 0, 0], "kind": "backward")", R"("to": "head")"}}},
        {"NarrowingLayerThatIsOff",
         network_config(
             R"("layers": [{"type": "dense", "out": 3, "enabled": false}, {"type": "dense"}])"),
         "a disabled layer must keep the width",
         "enable it",
         {{config, "false", "true"}}},
        {"ImageLayerOfAVector",
         network_config(R"("layers": [{"type": "conv2d", "out_channels": 3}, {"type": "dense"}])"),
         "conv2d does not fit its input",
         R"(give the network an "input" of that form)",
         {{config, R"("layers")", R"("input": [2, 1, 1], "layers")"},
          {config, R"("out_channels": 3)", R"("out_channels": 3, "kernel": 1)"}}},
        {"WidthOfInputs",
         network_config(R"("layers": [{"type": "dense", "in": 3}])"),
         "dense does not fit its input",
         R"(set "in" to 2)",
         {{config, "3", "2"}}},
        {"WidthOfInputsLeftOut",
         network_config(R"("layers": [{"type": "dense", "in": 3}])"),
         "dense does not fit its input",
         "leave it out",
         {{config, R"(, "in": 3)", ""}}},
        {"PlaceOutsideTheGrid",
         network_config(
             R"("layers": [{"type": "dense", "out": 3, "at": [0, 0, 0, 9]}, {"type": "dense"}])"),
         "network.layers[0].at[3] is 9 (a whole number from 0 to 3 is needed)",
         "change it",
         {{config, "[0, 0, 0, 9]", "[0, 0, 0, 3]"}}},
        {"EmptyResidual",
         network_config(R"("layers": [{"type": "residual"}, {"type": "dense"}])"),
         "an empty residual begins the chain",
         "put a layer before it",
         {{config, R"([{"type": "residual"})",
           R"([{"type": "dense", "out": 2}, {"type": "residual"})"}}},
        {"FaultOfALayer",
         network_config(
             R"("layers": [{"type": "multi_head_attention", "causal": false, "window": 3},
             {"type": "dense"}], "input": [2, 1])"),
         "cannot be used (window is of causal attention)",
         "change that key",
         {{config, R"("window": 3)", R"("window": 0)"}}},
        {"WindowWithoutCausality",
         network_config(R"("input": [2, 1], )" + transformer +
                        R"(, "causal": false, "window": 2})"),
         "it is of causal attention",
         "leave it out",
         {{config, R"(, "window": 2)", ""}}},
    };
    return table;
}

class NetworkRemedies : public testing::TestWithParam<RemedyRow> {};

TEST_P(NetworkRemedies, Work) {
    test::expect_remedy_works(GetParam());
}

const auto name_of = [](const auto& row) { return row.param.name; };
INSTANTIATE_TEST_SUITE_P(Network, NetworkRemedies, testing::ValuesIn(network_rows()), name_of);

}  // namespace
}  // namespace cambrian::launch::remedies_network_test
