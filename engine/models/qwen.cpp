#include "cambrian/engine/models/transformer_blocks.hpp"

namespace cambrian::models {
namespace {

Family qwen_family(std::string_view type, std::string_view architecture) {
    Family family = gated_transformer_family(type, architecture);
    family.name = "qwen";
    family.defaults = {.positions = 32768, .epsilon = 1e-6F, .rope_base = 10000.0F};
    family.fixed.push_back({"use_sliding_window", {"false"}});
    return family;
}

}  // namespace

// Yang et al., "Qwen2 Technical Report", 2024: queries, keys and values have biases, outputs none.
Family qwen2_family() {
    Family family = qwen_family("qwen2", "Qwen2ForCausalLM");
    family.defaults.attention_bias = true;
    add_output_bias(family.tensors, "");
    family.buffers = {"model.layers.#.self_attn.rotary_emb.inv_freq"};
    return family;
}

// Yang et al., "Qwen3 Technical Report", 2025: queries and keys are normed before they are turned.
Family qwen3_family() {
    Family family = qwen_family("qwen3", "Qwen3ForCausalLM");
    family.defaults.normed_heads = true;
    family.keys.push_back({"attention_bias", &LanguageModel::attention_bias, KeyUse::optional});
    add_output_bias(family.tensors, "layers.#.self_attn.o_proj.bias");
    family.tensors.push_back(
        {"layers.#.self_attn.q_norm.weight", Place::mixer, {"layers.1.q_gain"}});
    family.tensors.push_back(
        {"layers.#.self_attn.k_norm.weight", Place::mixer, {"layers.1.k_gain"}});
    return family;
}

}  // namespace cambrian::models
