#include <nlohmann/json.hpp>

#include "cambrian/engine/models/transformer_blocks.hpp"

namespace cambrian::models {

namespace {

using M = LanguageModel;

Family gated_family() {
    Family family;
    family.prefix = "model.";
    family.keys = gated_transformer_keys();
    family.keys.push_back({"attention_bias", &M::attention_bias, KeyUse::optional});
    family.keys.push_back({"mlp_bias", &M::mlp_bias, KeyUse::optional});
    family.fixed = {{"hidden_act", {"\"silu\""}}};
    family.tensors = gated_transformer_tensors();
    add_output_bias(family.tensors, "layers.#.self_attn.o_proj.bias");
    family.buffers = {"model.layers.#.self_attn.rotary_emb.inv_freq"};
    family.complete = complete_rotary;
    family.write = write_rotary;
    family.layers = gated_transformer;
    family.describe = describe_gated_transformer;
    return family;
}

/// A key that is left out has a default, unlike one that is null.
void complete_mistral(LanguageModel& model, const nlohmann::json& config) {
    complete_rotary(model, config);
    if (!config.contains("num_key_value_heads")) model.kv_heads = 8;
    if (!config.contains("sliding_window")) model.sliding = 4096;
}

std::optional<LanguageModel> describe_mistral(std::span<const AnyLayer> chain) {
    std::optional<LanguageModel> model = describe_gated_transformer(chain);
    if (model) model->sliding = model->positions;
    return model;
}

}  // namespace

// Touvron et al., "LLaMA", 2023; the names are those of the library transformers.
Family llama_family() {
    Family family = gated_family();
    family.name = "llama";
    family.model_types = {"llama"};
    family.architecture = "LlamaForCausalLM";
    family.defaults = {.positions = 2048, .epsilon = 1e-6F, .rope_base = 10000.0F};
    family.fixed.push_back({"pretraining_tp", {"1", "2", "4", "8"}});
    return family;
}

// Jiang et al., "Mistral 7B", 2023: the same with a window.
Family mistral_family() {
    Family family = gated_family();
    family.name = "mistral";
    family.model_types = {"mistral"};
    family.architecture = "MistralForCausalLM";
    family.defaults = {.positions = 131072, .epsilon = 1e-6F, .rope_base = 10000.0F};
    family.keys.push_back({"sliding_window", &M::sliding, KeyUse::optional});
    family.complete = complete_mistral;
    family.describe = describe_mistral;
    return family;
}

}  // namespace cambrian::models
