#include "cambrian/engine/models/layer_names.hpp"

#include <array>

namespace cambrian::models {
namespace {

using enum TensorUse;

std::string number(std::int64_t value) {
    return std::to_string(value);
}

bool measure_dense(const ShapesOfLayer& shapes, LayerFields& fields) {
    const Shape& weight = shapes.at("weight");
    fields["in"] = number(weight[1]);
    fields["out"] = number(weight[0]);
    return true;
}

bool measure_embedding(const ShapesOfLayer& shapes, LayerFields& fields) {
    const Shape& table = shapes.at("table");
    fields["vocabulary"] = number(table[0]);
    fields["features"] = number(table[1]);
    return true;
}

bool measure_norm(const ShapesOfLayer& shapes, LayerFields& fields) {
    fields["features"] = number(shapes.at("gain")[0]);
    return true;
}

/// [out, in / groups, kernel..]; the input tells how many groups there are.
bool measure_conv(const ShapesOfLayer& shapes, LayerFields& fields) {
    const auto extents = shapes.at("weight").extents();
    fields["out_channels"] = number(extents[0]);
    std::string kernel;
    for (std::size_t axis = 2; axis < extents.size(); ++axis)
        kernel += (axis == 2 ? "[" : ", ") + number(extents[axis]);
    fields["kernel"] = kernel + "]";
    fields["group_channels"] = number(extents[1]);
    return true;
}

/// [in, out / groups, kernel..]
bool measure_conv_transpose(const ShapesOfLayer& shapes, LayerFields& fields) {
    measure_conv(shapes, fields);
    // Whoever has groups says so.
    for (const char* field : {"group_channels", "out_channels"}) fields.erase(field);
    fields["in_channels"] = number(shapes.at("weight")[0]);
    fields["group_out_channels"] = number(shapes.at("weight")[1]);
    return true;
}

template <int Gates>
bool measure_recurrent(const ShapesOfLayer& shapes, LayerFields& fields) {
    const Shape& own = shapes.at("weight_hh");
    const Shape& input = shapes.at("weight_ih");
    fields["in"] = number(input[1]);
    fields["hidden"] = number(own[1]);
    return own[0] == Gates * own[1] && input[0] == own[0];
}

/// The heads are the caller's, who then knows how wide they are: "queries" and "keys" tell it.
bool measure_attention(const ShapesOfLayer& shapes, LayerFields& fields) {
    fields["features"] = number(shapes.at("wq")[1]);
    fields["queries"] = number(shapes.at("wq")[0]);
    fields["keys"] = number(shapes.at("wk")[0]);
    return shapes.at("wo")[1] == shapes.at("wq")[0];
}

bool measure_joined_attention(const ShapesOfLayer& shapes, LayerFields& fields) {
    const Shape& joined = shapes.at("wq");
    for (const char* field : {"features", "queries", "keys"}) fields[field] = number(joined[1]);
    return joined[0] == 3 * joined[1];
}

bool measure_swiglu(const ShapesOfLayer& shapes, LayerFields& fields) {
    const Shape& gate = shapes.at("gate_weight");
    fields["features"] = number(gate[1]);
    fields["hidden"] = number(gate[0]);
    return shapes.at("up_weight") == gate && shapes.at("down_weight") == Shape({gate[1], gate[0]});
}

LayerNames dense_like(std::string_view type, int rank,
                      bool (*measure)(const ShapesOfLayer&, LayerFields&),
                      bool only_named = false) {
    LayerNames names{type,       {{{"weight"}, {"weight"}, rank}, {{"bias"}, {"bias"}, 1, bias}},
                     {},         {},
                     only_named, measure};
    if (rank > 2) names.untold = {"stride", "padding", "dilation"};
    return names;
}

/// A layer whose two biases are one here.
LayerNames recurrent(std::string_view type, bool (*measure)(const ShapesOfLayer&, LayerFields&)) {
    return {type,
            {{{"weight_ih"}, {"weight_ih_l0", "weight_ih"}, 2},
             {{"weight_hh"}, {"weight_hh_l0", "weight_hh"}, 2},
             {{"bias"}, {"bias_ih_l0", "bias_ih"}, 1, bias},
             {{"bias"}, {"bias_hh_l0", "bias_hh"}, 1, bias, Form::added}},
            {},
            {},
            false,
            measure};
}

LayerNames rnn() {
    LayerNames names = recurrent("rnn", measure_recurrent<1>);
    names.alike = "one with relu for tanh has the same tensors, and is no layer here";
    return names;
}

LayerNames gru() {
    LayerNames names = recurrent("gru", measure_recurrent<3>);
    names.tensors[2].ours = {"bias_ih"};
    names.tensors[3] = {{"bias_hh"}, {"bias_hh_l0", "bias_hh"}, 1, bias};
    return names;
}

LayerNames norm(std::string_view type, std::vector<TensorName> tensors) {
    return {type, std::move(tensors), {}, {"epsilon"}, false, measure_norm};
}

LayerNames rms_norm() {
    LayerNames names = norm("rms_norm", {{{"gain"}, {"weight", "scale"}, 1}});
    names.alike =
        "a LayerNorm without bias (--with MODULE.type=layer_norm) and PReLU, which is no layer "
        "here, have the same tensors";
    return names;
}

/// @param bias_use a LayerNorm without bias must be named with --with.
LayerNames layer_norm(TensorUse bias_use) {
    LayerNames names =
        norm("layer_norm", {{{"gain"}, {"weight"}, 1}, {{"bias"}, {"bias"}, 1, bias_use}});
    names.alike =
        "GroupNorm, InstanceNorm and a BatchNorm without running statistics have the same "
        "tensors, and are no layers here";
    return names;
}

LayerNames batch_norm() {
    LayerNames names = norm("batch_norm", {{{"gain"}, {"weight"}, 1},
                                           {{"bias"}, {"bias"}, 1},
                                           {{"mean"}, {"running_mean"}, 1},
                                           {{"variance"}, {"running_var"}, 1}});
    names.buffers = {"num_batches_tracked"};
    return names;
}

const std::vector<std::string_view> untold_of_attention{"heads", "causal", "rope_base"};

LayerNames joined_attention() {
    return {"multi_head_attention",
            {{{"wq", "wk", "wv"}, {"in_proj_weight"}, 2},
             {{"wo"}, {"out_proj.weight"}, 2},
             {{"bq", "bk", "bv"}, {"in_proj_bias"}, 1, bias},
             {{"bo"}, {"out_proj.bias"}, 1, bias}},
            {},
            untold_of_attention,
            false,
            measure_joined_attention};
}

LayerNames attention() {
    return {"multi_head_attention",
            {{{"wq"}, {"q_proj.weight", "query.weight", "q.weight", "wq.weight", "to_q.weight"}, 2},
             {{"wk"}, {"k_proj.weight", "key.weight", "k.weight", "wk.weight", "to_k.weight"}, 2},
             {{"wv"}, {"v_proj.weight", "value.weight", "v.weight", "wv.weight", "to_v.weight"}, 2},
             {{"wo"},
              {"o_proj.weight", "out_proj.weight", "o.weight", "wo.weight", "out.weight",
               "to_out.0.weight"},
              2},
             {{"bq"}, {"q_proj.bias", "query.bias", "q.bias", "wq.bias", "to_q.bias"}, 1, bias},
             {{"bk"}, {"k_proj.bias", "key.bias", "k.bias", "wk.bias", "to_k.bias"}, 1, bias},
             {{"bv"}, {"v_proj.bias", "value.bias", "v.bias", "wv.bias", "to_v.bias"}, 1, bias},
             {{"bo"},
              {"o_proj.bias", "out_proj.bias", "o.bias", "wo.bias", "out.bias", "to_out.0.bias"},
              1,
              bias}},
            {"rotary_emb.inv_freq"},
            untold_of_attention,
            false,
            measure_attention};
}

LayerNames swiglu() {
    return {"swiglu",
            {{{"gate_weight"}, {"gate_proj.weight", "gate.weight", "w1.weight"}, 2},
             {{"up_weight"}, {"up_proj.weight", "up.weight", "w3.weight"}, 2},
             {{"down_weight"}, {"down_proj.weight", "down.weight", "w2.weight"}, 2},
             {{"gate_bias"}, {"gate_proj.bias", "gate.bias", "w1.bias"}, 1, bias},
             {{"up_bias"}, {"up_proj.bias", "up.bias", "w3.bias"}, 1, bias},
             {{"down_bias"}, {"down_proj.bias", "down.bias", "w2.bias"}, 1, bias}},
            {},
            {},
            false,
            measure_swiglu,
            "one with another activation than silu has the same tensors, and is no layer here"};
}

LayerNames embedding() {
    return {"embedding", {{{"table"}, {"weight"}, 2}}, {}, {}, true, measure_embedding};
}

}  // namespace

std::span<const LayerNames> layer_names() {
    static const std::vector<LayerNames> all{
        joined_attention(),
        attention(),
        swiglu(),
        rnn(),
        gru(),
        recurrent("lstm", measure_recurrent<4>),
        batch_norm(),
        layer_norm(needed),
        rms_norm(),
        layer_norm(bias),
        dense_like("conv1d", 3, measure_conv),
        dense_like("conv2d", 4, measure_conv),
        dense_like("conv3d", 5, measure_conv),
        dense_like("conv_transpose1d", 3, measure_conv_transpose, true),
        dense_like("conv_transpose2d", 4, measure_conv_transpose, true),
        dense_like("conv_transpose3d", 5, measure_conv_transpose, true),
        embedding(),
        dense_like("dense", 2, measure_dense),
    };
    return all;
}

const LayerNames* names_of(const AnyLayer& layer) {
    const auto* attends = std::get_if<MultiHeadAttention>(&layer.variant());
    const bool apart =
        attends != nullptr && (attends->kv_heads != attends->heads ||
                               attends->heads * attends->head_dim != attends->features);
    for (const LayerNames& names : layer_names())
        if (names.type == layer.type() &&
            !(apart && names.tensors.front().theirs.front() == "in_proj_weight"))
            return &names;
    return nullptr;
}

}  // namespace cambrian::models
