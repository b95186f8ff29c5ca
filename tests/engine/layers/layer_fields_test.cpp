#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/engine/layers/layer_json.hpp"

// What is refused: fields out of range, and rows that do not fit.
namespace cambrian {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Refused {
    const char* json;
    Shape row;
    const char* text;  ///< In the message.
};

/// The message of what a layer and a row are refused with; empty when they are not.
std::string refusal(const Refused& refused) {
    try {
        AnyLayer layer = layer_from_json(nlohmann::json::parse(refused.json), "here");
        layer.resolve(refused.row);
    } catch (const ConfigError& error) {
        return error.what();
    } catch (const ShapeError& error) {
        return error.what();
    }
    return {};
}

TEST(LayerFieldsRefused, OutOfRange) {
    const std::vector<Refused> all{
        {R"({"type": "dense", "in": -1})", {3}, "here.in"},
        {R"({"type": "dense", "out": 16777217})", {3}, "here.out"},
        {R"({"type": "dense", "out": 1.5})", {3}, "here.out"},
        {R"({"type": "dense", "out": 2, "activation": "swish"})", {3}, "here.activation"},
        {R"({"type": "dense", "out": 2, "bias": 1})", {3}, "here.bias"},
        {R"({"type": "dense", "outs": 2})", {3}, "outs"},
        {R"({"type": "dense"})", {3}, "no output width"},
        {R"({"type": "rms_norm", "epsilon": 0})", {3}, "epsilon"},
        {R"({"type": "layer_norm", "epsilon": -1})", {3}, "epsilon"},
        {R"({"type": "rnn"})", {3}, "hidden"},
        {R"({"type": "lstm", "hidden": "4"})", {3}, "here.hidden"},
        {R"({"type": "gru"})", {3}, "hidden"},
        {R"({"type": "mgu"})", {3}, "hidden"},
        {R"({"type": "ugrnn", "hidden": -1})", {3}, "here.hidden"},
        {R"({"type": "delta", "in": 2, "hidden": 2})", {3}, "in"},
        {R"({"type": "multi_head_attention", "heads": 0})", {4}, "heads is 1 or more"},
        {R"({"type": "multi_head_attention", "heads": 3})", {4}, "head_dim"},
        {R"({"type": "multi_head_attention", "heads": 4, "kv_heads": 3})", {4}, "kv_heads"},
        {R"({"type": "multi_head_attention", "head_dim": 3, "rope_base": 10})", {4}, "head_dim"},
        {R"({"type": "multi_head_attention", "rope_base": 10})", {3}, "head_dim"},
        {R"({"type": "multi_head_attention", "rope_base": -1})", {4}, "rope_base"},
        {R"({"type": "multi_head_attention", "rope_base": 10, "rope_yarn": true})",
         {4},
         "rope_original"},
        {R"({"type": "multi_head_attention", "rope_base": 10, "rope_gain": 0})",
         {4},
         "rope_gain is above 0"},
        {R"({"type": "multi_head_attention", "rope_gain": 2})", {4}, "rope_gain is of"},
        {R"({"type": "multi_head_attention", "window": -1})", {4}, "here.window"},
        {R"({"type": "multi_head_attention", "window": 3, "causal": false})", {2, 4}, "window"},
        {R"({"type": "multi_head_attention", "qk_norm": true, "qk_epsilon": 0})", {4}, "epsilon"},
        {R"({"type": "embedding", "vocabulary": 3, "features": 2, "positions": -1})",
         {1},
         "here.positions"},
        {R"({"type": "embedding", "vocabulary": 3, "features": 2, "positions": 5})",
         {2},
         "a row is one id"},
        {R"({"type": "swiglu", "hidden": -2})", {4}, "here.hidden"},
        {R"({"type": "conv2d", "out_channels": 2, "kernel": 0})", {1, 4, 4}, "kernel"},
        {R"({"type": "conv2d", "out_channels": 2, "kernel": [1, 2, 3]})", {1, 4, 4}, "kernel"},
        {R"({"type": "conv2d", "out_channels": 2, "kernel": []})", {1, 4, 4}, "kernel"},
        {R"({"type": "conv2d", "out_channels": 2, "kernel": "3"})", {1, 4, 4}, "here.kernel"},
        {R"({"type": "conv1d", "out_channels": 2, "stride": 0})", {1, 4}, "stride"},
        {R"({"type": "conv1d", "out_channels": 2, "padding": -1})", {1, 4}, "here.padding"},
        {R"({"type": "conv3d", "out_channels": 2, "dilation": 0})", {1, 4, 4, 4}, "dilation"},
        {R"({"type": "conv1d", "out_channels": 2, "groups": 0})", {1, 4}, "groups"},
        {R"({"type": "conv1d", "out_channels": 3, "groups": 2})", {2, 4}, "out_channels"},
        {R"({"type": "conv1d", "out_channels": 2, "groups": 2})", {3, 4}, "in_channels"},
        {R"({"type": "conv1d"})", {1, 4}, "out_channels"},
        {R"({"type": "conv_transpose1d", "out_channels": 2, "output_padding": 1})",
         {1, 4},
         "output_padding"},
        {R"({"type": "conv_transpose2d", "out_channels": 2, "stride": 0})", {1, 4, 4}, "stride"},
        {R"({"type": "conv_transpose2d", "out_channels": 1, "groups": 2})", {2, 4, 4}, "groups"},
        {R"({"type": "max_pool2d", "kernel": 0})", {1, 4, 4}, "kernel"},
        {R"({"type": "max_pool2d", "kernel": 2, "padding": 2})", {1, 4, 4}, "padding"},
        {R"({"type": "average_pool2d", "stride": [1, 2, 3]})", {1, 4, 4}, "stride"},
        {R"({"type": "batch_norm", "momentum": 1.5})", {3}, "momentum"},
        {R"({"type": "batch_norm", "epsilon": 0})", {3}, "epsilon"},
        {R"({"type": "dropout", "rate": 1})", {3}, "rate"},
        {R"({"type": "dropout", "rate": -0.1})", {3}, "rate"},
        {R"({"type": "embedding", "features": 2})", {1}, "vocabulary"},
        {R"({"type": "embedding", "vocabulary": 2})", {1}, "features"},
        {R"({"type": "kmeans", "clusters": 2, "temperature": 0})", {3}, "temperature"},
        {R"({"type": "kmeans", "clusters": 2, "output": "labels"})", {3}, "output"},
        {R"({"type": "kmeans"})", {3}, "clusters"},
        {R"({"type": "mamba", "state": 0})", {3}, "state"},
        {R"({"type": "mamba", "expand": 0})", {3}, "expand"},
        {R"({"type": "mamba", "kernel": 1})", {3}, "kernel"},
        {R"({"type": "mamba", "epsilon": 0})", {3}, "epsilon"},
        {R"({"type": "softmax", "variant": "soft"})", {3}, "variant"},
        {R"({"type": "softmax", "temperature": -1})", {3}, "temperature"},
        {R"({"type": "softmax", "alpha": 2.5})", {3}, "alpha"},
        {R"({"type": "softmax", "alpha": 1.001})", {3}, "alpha"},
        {R"({"type": "softmax", "temperature": 1e-16})", {3}, "temperature"},
        {R"({"type": "rms_norm", "epsilon": 1e-39})", {3}, "epsilon"},
        {R"({"type": "neurons", "continuous": true, "time_step": 1e-46})", {3}, "time_step"},
        {R"({"type": "softmax", "variant": "grid", "rows": 2})", {4}, "cols"},
        {R"({"type": "softmax", "variant": "hierarchical"})", {4}, "levels"},
        {R"({"type": "softmax", "variant": "hierarchical", "levels": [2, 0]})", {4}, "levels"},
        {R"({"type": "softmax", "variant": "masked", "mask": [false, false]})", {2}, "mask"},
        {R"({"type": "softmax", "variant": "masked", "mask": [1, 0]})", {2}, "here.mask[0]"},
        {R"({"type": "softmax", "variant": "adaptive"})", {4}, "cutoffs"},
        {R"({"type": "softmax", "variant": "adaptive", "cutoffs": [3, 3]})", {4}, "cutoffs"},
        {R"({"type": "softmax", "variant": "mixture", "classes": 3})", {4}, "mixtures"},
        {R"({"type": "softmax", "variant": "mixture", "mixtures": 3})", {4}, "output = 0"},
        {R"({"type": "sequential"})", {3}, "no layers"},
        {R"({"type": "parallel"})", {3}, "no branches"},
        {R"({"type": "parallel", "combine": "max", "branches": [{"type": "rms_norm"}]})",
         {3},
         "combine"},
        {R"({"type": "parallel", "combine": "filter", "branches": [{"type": "rms_norm"}]})",
         {3},
         "gate"},
        {R"({"type": "parallel", "branches": [{"type": "rms_norm"}], "gate": {"type": "dense"}})",
         {3},
         "gate"},
        {R"({"type": "parallel", "branches": [{"type": "rms_norm"}], "top_k": 1})", {3}, "top_k"},
        {R"({"type": "parallel", "combine": "filter", "branches": [{"type": "rms_norm"}],
             "gate": {"type": "dense"}, "top_k": 2})",
         {3},
         "top_k"},
    };
    for (const Refused& each : all)
        EXPECT_THAT(refusal(each), AllOf(HasSubstr(each.text), HasSubstr("("), HasSubstr(")")))
            << each.json;
}

TEST(LayerFieldsRefused, RowsThatDoNotFit) {
    const std::vector<Refused> all{
        {R"({"type": "dense", "in": 4, "out": 2})", {3}, "it takes [.., 4], the input is [.., 3]"},
        {R"({"type": "dense", "in": 5, "out": 2})", {3, 2, 2}, "the input is [.., 3, 2, 2]"},
        {R"({"type": "rnn", "in": 2, "hidden": 2})", {3, 2}, "the input is [.., 3, 2]"},
        {R"({"type": "conv2d", "out_channels": 2})", {4}, "it takes rows [C, H, W]"},
        {R"({"type": "conv1d", "out_channels": 2})", {1, 2}, "an axis of 0"},
        {R"({"type": "conv1d", "out_channels": 2, "in_channels": 2})", {1, 8}, "2 channels"},
        {R"({"type": "conv_transpose1d", "out_channels": 2, "padding": 2})", {1, 1}, "an axis of"},
        {R"({"type": "max_pool2d", "kernel": 4})", {1, 3, 3}, "an axis of 0"},
        {R"({"type": "average_pool2d"})", {4, 4}, "it takes rows [C, H, W]"},
        {R"({"type": "batch_norm", "features": 2})", {3, 2}, "2 channels"},
        {R"({"type": "multi_head_attention", "causal": false})", {4}, "[time, features]"},
        {R"({"type": "softmax", "variant": "grid", "rows": 2, "cols": 2})", {3}, "[.., 4]"},
        {R"({"type": "softmax", "variant": "masked", "mask": [true]})", {3}, "[.., 1]"},
        {R"({"type": "parallel", "combine": "add", "branches": [{"type": "rms_norm"},
             {"type": "dense", "out": 4}]})",
         {3},
         "one gives [.., 3], another [.., 4]"},
        {R"({"type": "parallel", "branches": [{"type": "dense", "in": 2, "out": 4}]})",
         {3},
         "branch 0 of parallel"},
        {R"({"type": "parallel", "combine": "filter", "branches": [{"type": "rms_norm"}],
             "gate": {"type": "dense", "out": 3}})",
         {3},
         "it gives [.., 3] for 1 branches"},
        {R"({"type": "residual", "layers": [{"type": "dense", "out": 4}]})",
         {3},
         "they give [.., 4], the input is [.., 3]"},
        {R"({"type": "sequential", "layers": [{"type": "residual"}]})", {3}, "begins the chain"},
    };
    for (const Refused& each : all) EXPECT_THAT(refusal(each), HasSubstr(each.text)) << each.json;
}

}  // namespace
}  // namespace cambrian
