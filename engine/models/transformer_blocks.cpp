#include "cambrian/engine/models/transformer_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cambrian/engine/core/elementary_f64.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::models {
namespace {

std::vector<ConfigKey> gated_transformer_keys() {
    using M = LanguageModel;
    return {{"vocab_size", &M::vocabulary},
            {"hidden_size", &M::features},
            {"intermediate_size", &M::hidden},
            {"num_hidden_layers", &M::blocks},
            {"num_attention_heads", &M::heads},
            {"num_key_value_heads", &M::kv_heads, KeyUse::optional},
            {"head_dim", &M::head_dim, KeyUse::optional},
            {"max_position_embeddings", &M::positions, KeyUse::optional},
            {"rms_norm_eps", &M::epsilon, KeyUse::optional},
            {"rope_theta", &M::rope_base, KeyUse::optional},
            {"tie_word_embeddings", &M::tied, KeyUse::optional}};
}

std::vector<TensorRow> gated_transformer_tensors() {
    return {{"embed_tokens.weight", Place::embedding, {"table"}},
            {"layers.#.input_layernorm.weight", Place::mixer, {"layers.0.gain"}},
            {"layers.#.self_attn.q_proj.weight", Place::mixer, {"layers.1.wq"}},
            {"layers.#.self_attn.k_proj.weight", Place::mixer, {"layers.1.wk"}},
            {"layers.#.self_attn.v_proj.weight", Place::mixer, {"layers.1.wv"}},
            {"layers.#.self_attn.o_proj.weight", Place::mixer, {"layers.1.wo"}},
            {"layers.#.self_attn.q_proj.bias", Place::mixer, {"layers.1.bq"}},
            {"layers.#.self_attn.k_proj.bias", Place::mixer, {"layers.1.bk"}},
            {"layers.#.self_attn.v_proj.bias", Place::mixer, {"layers.1.bv"}},
            {"layers.#.post_attention_layernorm.weight", Place::mlp, {"layers.0.gain"}},
            {"layers.#.mlp.gate_proj.weight", Place::mlp, {"layers.1.gate_weight"}},
            {"layers.#.mlp.up_proj.weight", Place::mlp, {"layers.1.up_weight"}},
            {"layers.#.mlp.down_proj.weight", Place::mlp, {"layers.1.down_weight"}},
            {"layers.#.mlp.gate_proj.bias", Place::mlp, {"layers.1.gate_bias"}},
            {"layers.#.mlp.up_proj.bias", Place::mlp, {"layers.1.up_bias"}},
            {"layers.#.mlp.down_proj.bias", Place::mlp, {"layers.1.down_bias"}},
            {"norm.weight", Place::final_norm, {"gain"}},
            {"lm_head.weight", Place::head, {"weight"}}};
}

}  // namespace

Family gated_transformer_family(std::string_view type, std::string_view architecture) {
    Family family;
    family.name = type;
    family.model_types = {type};
    family.architecture = architecture;
    family.prefix = "model.";
    family.keys = gated_transformer_keys();
    family.fixed = {{"hidden_act", {"\"silu\""}}};
    family.tensors = gated_transformer_tensors();
    family.complete = complete_rotary;
    family.write = write_rotary;
    family.layers = gated_transformer;
    family.describe = describe_gated_transformer;
    return family;
}

void add_output_bias(std::vector<TensorRow>& tensors, std::string_view theirs) {
    tensors.push_back({theirs, Place::mixer, {"layers.1.bo"}});
}

namespace {

/// A number of a scaling of positions, which it must have.
double scaling_number(const nlohmann::json& rope, const char* key) {
    if (!rope.contains(key) || !rope[key].is_number())
        throw InputError("its scaling of positions has no number \"" + std::string(key) +
                         "\" (the angles follow from it) mend it");
    return rope[key].get<double>();
}

/// One that is missing or null is what is usual.
double scaling_number(const nlohmann::json& rope, const char* key, double usual) {
    return rope.contains(key) && !rope[key].is_null() ? scaling_number(rope, key) : usual;
}

void read_original(LanguageModel& model, const nlohmann::json& rope) {
    const double original = scaling_number(rope, "original_max_position_embeddings");
    if (!(original >= 1.0 && original <= static_cast<double>(largest_count) &&
          original == std::floor(original)))
        throw InputError("\"original_max_position_embeddings\" is " +
                         json_text::shown(rope["original_max_position_embeddings"]) +
                         " (it is a count of positions) mend it");
    model.rope_original = static_cast<std::int64_t>(original);
}

/// By what YaRN multiplies queries and keys of sequences that are `factor` times as long.
double yarn_gain(double factor, double weight = 1.0) {
    return factor > 1.0 ? 0.1 * weight * elementary_f64::log(factor) + 1.0 : 1.0;
}

/// What positions of a type read.
struct PositionType {
    std::string_view name;
    std::vector<std::string_view> keys;
};

const std::vector<PositionType>& position_types() {
    static const std::vector<PositionType> types{
        {"default", {"rope_type", "type", "rope_theta"}},
        {"linear", {"rope_type", "type", "rope_theta", "factor"}},
        {"llama3",
         {"rope_type", "type", "rope_theta", "factor", "low_freq_factor", "high_freq_factor",
          "original_max_position_embeddings"}},
        {"yarn",
         {"rope_type", "type", "factor", "original_max_position_embeddings", "beta_fast",
          "beta_slow", "attention_factor", "mscale", "truncate", "rope_theta", "mscale_all_dim"}}};
    return types;
}

/// Settings that change nothing with these values, and are not computed with others.
const std::vector<std::pair<const char*, nlohmann::json>>& neutral_settings() {
    static const std::vector<std::pair<const char*, nlohmann::json>> settings{
        {"partial_rotary_factor", 1}, {"rope_interleave", false}, {"rope_interleaved", false}};
    return settings;
}

void check_neutral(const nlohmann::json& object) {
    for (const auto& [key, value] : neutral_settings())
        if (object.contains(key) && !object[key].is_null() && object[key] != value)
            throw InputError("\"" + std::string(key) + "\" is " + json_text::shown(object[key]) +
                             " (computed here is " + value.dump() + ") choose another model");
}

void check_keys(const PositionType& type, const nlohmann::json& rope) {
    for (const auto& [key, value] : rope.items()) {
        const auto same = [&key = key](const auto& setting) { return setting.first == key; };
        if (value.is_null() || std::ranges::find(type.keys, key) != type.keys.end() ||
            std::ranges::any_of(neutral_settings(), same))
            continue;
        throw InputError("its scaling of positions has \"" + shortened(key, 60) + "\" (known are " +
                         joined(std::span(type.keys)) + ", as its type is \"" +
                         std::string(type.name) + "\") choose another model");
    }
}

/// "type" is the older name.
const PositionType& type_of(const nlohmann::json& rope) {
    nlohmann::json named = "default";
    for (const char* key : {"type", "rope_type"})
        if (rope.contains(key) && !rope[key].is_null()) named = rope[key];
    const auto found = std::ranges::find_if(
        position_types(), [&](const PositionType& type) { return named == type.name; });
    if (found == position_types().end())
        throw InputError("it asks for positions of the type " + json_text::shown(named) +
                         " (computed here are \"default\", \"linear\", \"llama3\" and \"yarn\") "
                         "choose another model");
    return *found;
}

void read_yarn(LanguageModel& model, const nlohmann::json& rope) {
    if (rope.contains("original_max_position_embeddings"))
        read_original(model, rope);
    else
        model.rope_original = model.positions;
    model.rope_yarn = true;
    model.rope_low = static_cast<float>(scaling_number(rope, "beta_slow", 1.0));
    model.rope_high = static_cast<float>(scaling_number(rope, "beta_fast", 32.0));
    const double factor = scaling_number(rope, "factor");
    const double one = scaling_number(rope, "mscale", 0.0);
    const double all = scaling_number(rope, "mscale_all_dim", 0.0);
    const double usual = one != 0.0 && all != 0.0 ? yarn_gain(factor, one) / yarn_gain(factor, all)
                                                  : yarn_gain(factor);
    model.rope_gain = static_cast<float>(scaling_number(rope, "attention_factor", usual));
    if (!rope.contains("truncate")) return;
    if (!rope["truncate"].is_boolean())
        throw InputError("\"truncate\" is " + json_text::shown(rope["truncate"]) +
                         " (it is true or false) mend it");
    model.rope_truncate = rope["truncate"].get<bool>();
}

/// What positions are turned and scaled by.
void read_rope(LanguageModel& model, const nlohmann::json& rope) {
    const PositionType& type = type_of(rope);
    check_neutral(rope);
    check_keys(type, rope);
    if (rope.contains("rope_theta") && !rope["rope_theta"].is_null())
        model.rope_base = static_cast<float>(scaling_number(rope, "rope_theta"));
    if (type.name == "default") return;
    model.rope_factor = static_cast<float>(scaling_number(rope, "factor"));
    if (type.name == "linear") return;
    if (type.name == "yarn") {
        read_yarn(model, rope);
        return;
    }
    model.rope_low = static_cast<float>(scaling_number(rope, "low_freq_factor"));
    model.rope_high = static_cast<float>(scaling_number(rope, "high_freq_factor"));
    read_original(model, rope);
}

}  // namespace

void complete_rotary(LanguageModel& model, const nlohmann::json& config) {
    check_neutral(config);
    const nlohmann::json* read = nullptr;
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        if (!config.contains(key) || config[key].is_null()) continue;
        const nlohmann::json& rope = config[key];
        if (!rope.is_object())
            throw InputError("\"" + std::string(key) + "\" is " + json_text::shown(rope) +
                             " (it is an object) mend it");
        if (read != nullptr && rope != *read)
            throw InputError(
                "\"rope_parameters\" and \"rope_scaling\" differ (both say how positions are "
                "scaled) leave one out");
        read = &rope;
        read_rope(model, rope);
    }
    if (config.contains("layer_types"))
        for (const nlohmann::json& type : config["layer_types"])
            if (type != "full_attention")
                throw InputError("\"layer_types\" has " + json_text::shown(type) +
                                 " (blocks are alike here, with \"full_attention\") choose another "
                                 "model");
}

void write_rotary(const LanguageModel& model, nlohmann::ordered_json& config) {
    if (model.rope_factor == 1.0F && !model.rope_yarn) return;
    const bool llama3 = model.rope_original > 0 && !model.rope_yarn;
    nlohmann::ordered_json rope{{"rope_type", model.rope_yarn ? "yarn"
                                              : llama3        ? "llama3"
                                                              : "linear"},
                                {"factor", model.rope_factor}};
    if (llama3) {
        rope["low_freq_factor"] = model.rope_low;
        rope["high_freq_factor"] = model.rope_high;
    }
    if (model.rope_yarn) {
        rope["beta_fast"] = model.rope_high;
        rope["beta_slow"] = model.rope_low;
        const auto usual = static_cast<float>(yarn_gain(static_cast<double>(model.rope_factor)));
        if (model.rope_gain != usual) rope["attention_factor"] = model.rope_gain;
        if (!model.rope_truncate) rope["truncate"] = false;
    }
    if (model.rope_original > 0) rope["original_max_position_embeddings"] = model.rope_original;
    config["rope_scaling"] = std::move(rope);
}

namespace {

/// Whether all angles are divided: then no length from before is written beside that of positions.
bool scales_linearly(const LanguageModel& model) {
    return model.rope_original == 0 && model.rope_factor > 1.0F;
}

/// As far as a model is made to see: configurations may have left the length from before their
/// positions were scaled.
std::int64_t scaled_positions(const LanguageModel& model) {
    const std::int64_t original = scales_linearly(model) ? model.positions : model.rope_original;
    const double scaled = static_cast<double>(model.rope_factor) * static_cast<double>(original);
    return std::max(model.positions, static_cast<std::int64_t>(
                                         std::min(scaled, static_cast<double>(largest_count))));
}

/// The positions that scaled_positions makes the window of: of linear ones at most one count.
std::int64_t unscaled_positions(LanguageModel model, std::int64_t window) {
    model.positions = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(window) / static_cast<double>(model.rope_factor)));
    const std::int64_t above = scaled_positions(model);
    if (above == window) return model.positions;
    LanguageModel shorter = model;
    --shorter.positions;
    const std::int64_t below = scaled_positions(shorter);
    throw ConfigError(fmt::format(
        "the network cannot be written with linear positions: its attention has a window of {} "
        "(rope_factor {} times a whole number of positions, rounded down, gives {}{}) give it "
        "such a window, or choose --family torch",
        window, model.rope_factor, below > 0 ? fmt::format("{} or ", below) : "", above));
}

}  // namespace

std::int64_t window_of(const LanguageModel& model) {
    return model.sliding > 0 ? model.sliding : scaled_positions(model);
}

std::vector<AnyLayer> gated_transformer(const LanguageModel& model) {
    const auto norm = [&] { return RmsNorm{.features = model.features, .epsilon = model.epsilon}; };
    const auto block = [&](AnyLayer layer) {
        Residual residual;
        residual.layers.emplace_back(norm());
        residual.layers.push_back(std::move(layer));
        return residual;
    };
    std::vector<AnyLayer> layers;
    layers.emplace_back(Embedding{.vocabulary = model.vocabulary, .features = model.features});
    for (std::int64_t i = 0; i < model.blocks; ++i) {
        MultiHeadAttention attention{.features = model.features,
                                     .heads = model.heads,
                                     .kv_heads = model.kv_heads,
                                     .head_dim = model.head_dim,
                                     .rope_base = model.rope_base,
                                     .bias = model.attention_bias};
        if (model.normed_heads) {
            attention.qk_norm = true;
            attention.qk_epsilon = model.epsilon;
        }
        attention.rope_factor = model.rope_factor;
        attention.rope_original = model.rope_original;
        attention.rope_low = model.rope_low;
        attention.rope_high = model.rope_high;
        attention.rope_yarn = model.rope_yarn;
        attention.rope_truncate = model.rope_truncate;
        attention.rope_gain = model.rope_gain;
        attention.window = window_of(model);
        layers.emplace_back(block(attention));
        layers.emplace_back(block(
            Swiglu{.features = model.features, .hidden = model.hidden, .bias = model.mlp_bias}));
    }
    layers.emplace_back(norm());
    layers.emplace_back(Dense{.in = model.features, .out = model.vocabulary, .bias = false});
    return layers;
}

std::optional<LanguageModel> describe_gated_blocks(std::span<const AnyLayer> chain) {
    if (chain.size() < 5 || chain.size() % 2 != 1) return std::nullopt;
    const auto* embedding = std::get_if<Embedding>(&chain[0].variant());
    const auto* norm = inner_layer<RmsNorm>(chain[1], 0);
    const auto* attention = inner_layer<MultiHeadAttention>(chain[1], 1);
    const auto* gated = inner_layer<Swiglu>(chain[2], 1);
    if (embedding == nullptr || norm == nullptr || attention == nullptr || gated == nullptr)
        return std::nullopt;
    LanguageModel model;
    model.vocabulary = embedding->vocabulary;
    model.features = embedding->features;
    model.hidden = gated->hidden;
    model.blocks = static_cast<std::int64_t>(chain.size() - 3) / 2;
    model.heads = attention->heads;
    model.kv_heads = attention->kv_heads;
    model.head_dim = attention->head_dim;
    model.positions = attention->window;
    model.epsilon = norm->epsilon;
    model.rope_base = attention->rope_base;
    model.rope_factor = attention->rope_factor;
    model.rope_original = attention->rope_original;
    model.rope_low = attention->rope_low;
    model.rope_high = attention->rope_high;
    model.rope_yarn = attention->rope_yarn;
    model.rope_truncate = attention->rope_truncate;
    model.rope_gain = attention->rope_gain;
    model.attention_bias = attention->bias;
    model.normed_heads = attention->qk_norm;
    model.mlp_bias = gated->bias;
    return model;
}

std::optional<LanguageModel> describe_gated_transformer(std::span<const AnyLayer> chain) {
    std::optional<LanguageModel> model = describe_gated_blocks(chain);
    if (model && scales_linearly(*model))
        model->positions = unscaled_positions(*model, model->positions);
    return model;
}

}  // namespace cambrian::models
