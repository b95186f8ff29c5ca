#include "cambrian/tests/support/layer_samples.hpp"

#include <nlohmann/json.hpp>

#include "cambrian/engine/layers/layer_documentation.hpp"
#include "cambrian/engine/layers/layer_json.hpp"

namespace cambrian::test {

namespace {

struct Text {
    const char* name;
    const char* json;
    Shape row;
};

/// Uses that no example shows.
const std::vector<Text>& further_uses() {
    static const std::vector<Text> uses{
        {"dense_without_bias", R"({"type": "dense", "in": 3, "out": 2, "bias": false})", {3}},
        {"dense_of_a_sequence", R"({"type": "dense", "in": 3, "out": 2})", {2, 3}},
        {"dense_of_an_image", R"({"type": "dense", "out": 3, "activation": "relu"})", {1, 2, 3}},
        {"dense_relu6", R"({"type": "dense", "out": 4, "activation": "relu6"})", {3}},
        {"dense_hard_swish", R"({"type": "dense", "out": 4, "activation": "hard_swish"})", {3}},
        {"dense_mish", R"({"type": "dense", "out": 4, "activation": "mish"})", {3}},
        {"dense_exact_gelu", R"({"type": "dense", "out": 4, "activation": "exact_gelu"})", {3}},
        {"sequential_any_activations",
         R"({"type": "sequential", "layers": [
             {"type": "dense", "out": 4, "activation": "elu"},
             {"type": "dense", "out": 4, "activation": "softplus"},
             {"type": "dense", "out": 2, "activation": "sin"}]})",
         {3}},
        {"dense_orthogonal",
         R"({"type": "dense", "out": 4, "init": "orthogonal", "init_scale": 0.5, "decay": false})",
         {3}},
        {"sequential_xavier",
         R"({"type": "sequential", "init": "xavier_normal", "layers": [
             {"type": "dense", "out": 4}, {"type": "dense", "out": 2, "init": "zeros"}]})",
         {3}},
        {"mamba_euler",
         R"({"type": "mamba", "state": 2, "expand": 2, "kernel": 3, "discretization": "euler", "epsilon": 0.01})",
         {3}},
        {"rms_norm_of_a_sequence", R"({"type": "rms_norm", "features": 4})", {3, 4}},
        {"rnn_of_an_image", R"({"type": "rnn", "hidden": 2})", {2, 2}},
        {"attention_whole",
         R"({"type": "multi_head_attention", "features": 4, "heads": 2, "causal": false})",
         {3, 4}},
        {"attention_plain",
         R"({"type": "multi_head_attention", "heads": 2, "bias": false, "window": 4})",
         {4}},
        {"attention_with_norms",
         R"({"type": "multi_head_attention", "heads": 4, "kv_heads": 2, "head_dim": 2,
             "rope_base": 10, "window": 3, "qk_norm": true, "qk_epsilon": 0.01})",
         {4}},
        {"attention_of_longer_sequences",
         R"({"type": "multi_head_attention", "heads": 1, "rope_base": 100, "window": 4,
             "rope_factor": 8, "rope_original": 15, "rope_low": 1, "rope_high": 4})",
         {4}},
        {"attention_by_yarn",
         R"({"type": "multi_head_attention", "heads": 1, "rope_base": 100, "window": 4,
             "rope_factor": 8, "rope_original": 40, "rope_high": 32, "rope_yarn": true,
             "rope_truncate": false, "rope_gain": 1.2})",
         {4}},
        {"attention_whole_with_norms",
         R"({"type": "multi_head_attention", "heads": 2, "causal": false, "bias": false,
             "qk_norm": true})",
         {3, 4}},
        {"swiglu_without_bias", R"({"type": "swiglu", "bias": false})", {3}},
        {"conv2d_by_axis",
         R"({"type": "conv2d", "out_channels": 2, "kernel": [1, 3], "stride": [2, 1],
             "padding": [0, 1], "dilation": [1, 2], "bias": false, "activation": "gelu"})",
         {3, 4, 5}},
        {"conv_transpose2d_by_axis",
         R"({"type": "conv_transpose2d", "out_channels": 2, "kernel": [2, 3], "stride": [3, 2],
             "padding": [1, 0], "output_padding": [2, 1], "bias": false})",
         {2, 2, 3}},
        {"max_pool2d_overlapping",
         R"({"type": "max_pool2d", "kernel": 3, "stride": 1})",
         {1, 4, 4}},
        {"batch_norm_of_vectors", R"({"type": "batch_norm"})", {4}},
        {"embedding_of_one_id", R"({"type": "embedding", "vocabulary": 4, "features": 3})", {1}},
        {"embedding_with_positions",
         R"({"type": "embedding", "vocabulary": 4, "features": 3, "positions": 12})",
         {1}},
        {"kmeans_features",
         R"({"type": "kmeans", "clusters": 3, "features": 4, "output": "features"})",
         {4}},
        {"softmax_of_a_sequence", R"({"type": "softmax", "features": 4})", {2, 4}},
        {"entmax_softmax", R"({"type": "softmax", "variant": "entmax", "alpha": 1.0})", {4}},
        {"entmax_middle",
         R"({"type": "softmax", "variant": "entmax", "alpha": 1.5, "temperature": 0.5})",
         {6}},
        {"entmax_sparsemax", R"({"type": "softmax", "variant": "entmax", "alpha": 2.0})", {4}},
        {"parallel_concat_of_images",
         R"({"type": "parallel", "branches": [
             {"type": "conv2d", "out_channels": 2, "padding": 1},
             {"type": "max_pool2d", "kernel": 3, "stride": 1, "padding": 1}]})",
         {2, 3, 3}},
        {"parallel_add",
         R"({"type": "parallel", "combine": "add", "branches": [
             {"type": "dense", "out": 3}, {"type": "rms_norm"}]})",
         {3}},
        {"parallel_average_with_state",
         R"({"type": "parallel", "combine": "average", "branches": [
             {"type": "rnn", "hidden": 2}, {"type": "dense", "out": 2},
             {"type": "lstm", "hidden": 2}]})",
         {3}},
        {"parallel_filter_of_images",
         R"({"type": "parallel", "combine": "filter", "branches": [
             {"type": "conv1d", "out_channels": 2, "padding": 1}, {"type": "batch_norm"}],
             "gate": {"type": "dense"}})",
         {2, 3}},
        {"parallel_grid_scatter",
         R"({"type": "parallel", "combine": "grid_scatter", "branches": [
             {"type": "conv1d", "out_channels": 2}, {"type": "dense", "out": 2}]})",
         {2, 4}},
        {"sequential_of_an_image",
         R"({"type": "sequential", "layers": [
             {"type": "conv2d", "out_channels": 3, "activation": "silu"}, {"type": "batch_norm"},
             {"type": "residual", "layers": [{"type": "conv2d", "out_channels": 3, "padding": 1}]},
             {"type": "dense", "out": 2}]})",
         {2, 4, 4}},
        {"sequential_with_attention",
         R"({"type": "sequential", "layers": [
             {"type": "residual", "layers": [{"type": "rms_norm"},
                 {"type": "multi_head_attention", "heads": 2, "rope_base": 100, "window": 3}]},
             {"type": "residual", "layers": [{"type": "rms_norm"}, {"type": "swiglu"}]},
             {"type": "gru", "hidden": 3}]})",
         {4}},
        {"neurons_of_a_sequence", R"({"type": "neurons", "in": 3, "out": 2})", {2, 3}},
        {"neurons_with_state",
         R"({"type": "neurons", "out": 2, "neurons": [
             {"activation": "tanh"}, {"activation": "elu", "aggregation": "median"},
             {"activation": "sin", "aggregation": "product"}], "connections": [
             {"source": 0, "target": 0}, {"source": 2, "target": 0, "delay": 1},
             {"source": 4, "target": 0, "delay": 2}, {"source": 1, "target": 2, "delay": 3},
             {"source": 0, "target": 2}, {"source": 3, "target": 1, "delay": 1},
             {"source": 4, "target": 1}, {"source": 0, "target": 1, "delay": 1},
             {"source": -1, "target": 1}]})",
         {2}},
        {"neurons_continuous",
         R"({"type": "neurons", "out": 1, "continuous": true, "time_step": 0.3, "neurons": [
             {"activation": "tanh"}, {"activation": "leaky_relu", "aggregation": "max"}],
             "connections": [{"source": 0, "target": 1}, {"source": 1, "target": 1},
             {"source": 3, "target": 0}, {"source": 2, "target": 1, "delay": 1}]})",
         {2}},
        {"neurons_plastic",
         R"({"type": "neurons", "out": 2, "plastic": true, "largest_weight": 1.5, "neurons": [
             {"activation": "tanh"}, {"activation": "sigmoid", "aggregation": "mean"},
             {"activation": "sin", "aggregation": "product"}], "connections": [
             {"source": 0, "target": 0, "plastic": true}, {"source": 1, "target": 0},
             {"source": 4, "target": 0, "delay": 2, "plastic": true},
             {"source": 0, "target": 1, "plastic": true}, {"source": 1, "target": 2},
             {"source": 3, "target": 2, "delay": 1, "plastic": true},
             {"source": -1, "target": 1, "plastic": true}, {"source": 4, "target": 1}]})",
         {2}},
        {"neurons_plastic_continuous",
         R"({"type": "neurons", "out": 1, "plastic": true, "continuous": true, "neurons": [
             {"activation": "tanh"}, {"activation": "relu"}], "connections": [
             {"source": 0, "target": 1, "plastic": true}, {"source": 3, "target": 0},
             {"source": 2, "target": 1, "delay": 1, "plastic": true}]})",
         {2}},
        {"residual_of_the_one_before",
         R"({"type": "sequential", "layers": [
             {"type": "dense", "out": 3, "activation": "tanh"}, {"type": "residual"}]})",
         {3}},
    };
    return uses;
}

template <class L>
std::vector<L> examples_of() {
    if constexpr (requires { L::examples(); }) {
        return L::examples();
    } else {
        return {L::example()};
    }
}

void add(std::vector<LayerSample>& samples, std::string name, AnyLayer layer, const Shape& row) {
    layer.resolve(row);
    samples.push_back({std::move(name), std::move(layer), row});
}

std::vector<LayerSample> all_samples() {
    std::vector<LayerSample> samples;
    for (const std::string_view type : layer_types())
        std::visit(
            [&]<class L>(const L&) {
                const std::vector<L> examples = examples_of<L>();
                for (const L& layer : examples) {
                    std::string name(type);
                    if constexpr (requires { layer.variant; }) name += "_" + layer.variant;
                    add(samples, std::move(name), layer, example_row(layer));
                }
            },
            default_layer(type)->variant());
    for (const auto& [name, json, row] : further_uses())
        add(samples, name, layer_from_json(nlohmann::json::parse(json), name), row);
    return samples;
}

}  // namespace

const std::vector<LayerSample>& layer_samples() {
    static const std::vector<LayerSample> samples = all_samples();
    return samples;
}

}  // namespace cambrian::test
