#include <nlohmann/json.hpp>

#include "cambrian/engine/models/transformer_blocks.hpp"

namespace cambrian::models {
namespace {

using M = LanguageModel;

/// With biases where a config asks for them.
Family llama_like(std::string_view type, std::string_view architecture) {
    Family family = gated_transformer_family(type, architecture);
    family.keys.push_back({"attention_bias", &M::attention_bias, KeyUse::optional});
    family.keys.push_back({"mlp_bias", &M::mlp_bias, KeyUse::optional});
    add_output_bias(family.tensors, "layers.#.self_attn.o_proj.bias");
    family.buffers = {"model.layers.#.self_attn.rotary_emb.inv_freq"};
    return family;
}

/// A key that is left out has a default, unlike one that is null.
void complete_mistral(LanguageModel& model, const nlohmann::json& config) {
    complete_rotary(model, config);
    if (!config.contains("num_key_value_heads")) model.kv_heads = 8;
    if (!config.contains("sliding_window")) model.sliding = 4096;
}

std::optional<LanguageModel> describe_mistral(std::span<const AnyLayer> chain) {
    std::optional<LanguageModel> model = describe_gated_blocks(chain);
    if (model) model->sliding = model->positions;  // A window says nothing of positions.
    return model;
}

}  // namespace

// Touvron et al., "LLaMA", 2023; the names are those of the library transformers.
Family llama_family() {
    Family family = llama_like("llama", "LlamaForCausalLM");
    family.defaults = {.positions = 2048, .epsilon = 1e-6F, .rope_base = 10000.0F};
    family.fixed.push_back({"pretraining_tp", {"1", "2", "4", "8"}});
    return family;
}

// Jiang et al., "Mistral 7B", 2023: the same with a window.
Family mistral_family() {
    Family family = llama_like("mistral", "MistralForCausalLM");
    family.defaults = {.positions = 131072, .epsilon = 1e-6F, .rope_base = 10000.0F};
    family.keys.push_back({"sliding_window", &M::sliding, KeyUse::optional});
    family.complete = complete_mistral;
    family.describe = describe_mistral;
    return family;
}

}  // namespace cambrian::models
