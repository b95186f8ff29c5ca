#include "cambrian/engine/models/transformer_blocks.hpp"

namespace cambrian::models {

// Touvron et al., "LLaMA", 2023; the names are those of the library transformers. Mistral is the
// same with a window.
Family llama_family() {
    using M = LanguageModel;
    Family family;
    family.name = "llama";
    family.model_types = {"llama", "mistral"};
    family.architecture = "LlamaForCausalLM";
    family.prefix = "model.";
    family.defaults = {.positions = 2048, .epsilon = 1e-6F, .rope_base = 10000.0F};
    family.keys = gated_transformer_keys();
    family.keys.push_back({"attention_bias", &M::attention_bias, KeyUse::optional});
    family.keys.push_back({"mlp_bias", &M::mlp_bias, KeyUse::optional});
    family.keys.push_back({"sliding_window", &M::sliding, KeyUse::optional});
    family.fixed = {{"hidden_act", {"\"silu\""}}, {"pretraining_tp", {"1", "2", "4", "8"}}};
    family.tensors = gated_transformer_tensors();
    add_output_bias(family.tensors, "layers.#.self_attn.o_proj.bias");
    family.buffers = {"model.layers.#.self_attn.rotary_emb.inv_freq"};
    family.complete = complete_rotary;
    family.write = write_rotary;
    family.layers = gated_transformer;
    family.describe = describe_gated_transformer;
    return family;
}

}  // namespace cambrian::models
