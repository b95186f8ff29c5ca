#include <nlohmann/json.hpp>

#include "cambrian/engine/models/transformer_blocks.hpp"

namespace cambrian::models {
namespace {

void complete_widths(LanguageModel& model, const nlohmann::json& /*config*/) {
    if (model.hidden == 0) model.hidden = 4 * model.features;
}

std::vector<AnyLayer> plain_transformer(const LanguageModel& model) {
    const auto norm = [&] {
        return LayerNorm{.features = model.features, .epsilon = model.epsilon};
    };
    std::vector<AnyLayer> layers;
    layers.emplace_back(Embedding{
        .vocabulary = model.vocabulary, .features = model.features, .positions = model.positions});
    for (std::int64_t i = 0; i < model.blocks; ++i) {
        Residual attention;
        attention.layers.emplace_back(norm());
        attention.layers.emplace_back(MultiHeadAttention{
            .features = model.features, .heads = model.heads, .window = model.positions});
        layers.emplace_back(std::move(attention));
        Residual mlp;
        mlp.layers.emplace_back(norm());
        mlp.layers.emplace_back(
            Dense{.in = model.features, .out = model.hidden, .activation = model.activation});
        mlp.layers.emplace_back(Dense{.in = model.hidden, .out = model.features});
        layers.emplace_back(std::move(mlp));
    }
    layers.emplace_back(norm());
    layers.emplace_back(Dense{.in = model.features, .out = model.vocabulary, .bias = false});
    return layers;
}

std::optional<LanguageModel> describe_plain_transformer(std::span<const AnyLayer> chain) {
    if (chain.size() < 5 || chain.size() % 2 != 1) return std::nullopt;
    const auto* embedding = std::get_if<Embedding>(&chain[0].variant());
    const auto* norm = inner_layer<LayerNorm>(chain[1], 0);
    const auto* attention = inner_layer<MultiHeadAttention>(chain[1], 1);
    const auto* first = inner_layer<Dense>(chain[2], 1);
    if (embedding == nullptr || norm == nullptr || attention == nullptr || first == nullptr)
        return std::nullopt;
    LanguageModel model;
    model.vocabulary = embedding->vocabulary;
    model.features = embedding->features;
    model.positions = embedding->positions;
    model.hidden = first->out;
    model.blocks = static_cast<std::int64_t>(chain.size() - 3) / 2;
    model.heads = attention->heads;
    model.epsilon = norm->epsilon;
    model.activation = first->activation;
    return model;
}

/// Weights are [in, out].
TensorRow projection(std::string_view theirs, Place place, std::vector<std::string_view> ours) {
    return {theirs, place, std::move(ours), Form::transposed};
}

}  // namespace

// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019.
Family gpt2_family() {
    using M = LanguageModel;
    Family family;
    family.name = "gpt2";
    family.model_types = {"gpt2"};
    family.architecture = "GPT2LMHeadModel";
    family.prefix = "transformer.";
    family.defaults = {.positions = 1024, .epsilon = 1e-5F, .tied = true};
    family.keys = {{"vocab_size", &M::vocabulary},
                   {"n_embd", &M::features},
                   {"n_inner", &M::hidden, KeyUse::optional},
                   {"n_layer", &M::blocks},
                   {"n_head", &M::heads},
                   {"n_positions", &M::positions, KeyUse::optional},
                   {"layer_norm_epsilon", &M::epsilon, KeyUse::optional},
                   {"activation_function", &M::activation, KeyUse::optional},
                   {"tie_word_embeddings", &M::tied, KeyUse::optional}};
    family.fixed = {{"scale_attn_weights", {"true"}},
                    {"scale_attn_by_inverse_layer_idx", {"false"}},
                    {"reorder_and_upcast_attn", {"false"}},
                    {"add_cross_attention", {"false"}}};
    family.tensors = {
        {"wte.weight", Place::embedding, {"table"}},
        {"wpe.weight", Place::embedding, {"position_table"}},
        {"h.#.ln_1.weight", Place::mixer, {"layers.0.gain"}},
        {"h.#.ln_1.bias", Place::mixer, {"layers.0.bias"}},
        projection("h.#.attn.c_attn.weight", Place::mixer,
                   {"layers.1.wq", "layers.1.wk", "layers.1.wv"}),
        {"h.#.attn.c_attn.bias", Place::mixer, {"layers.1.bq", "layers.1.bk", "layers.1.bv"}},
        projection("h.#.attn.c_proj.weight", Place::mixer, {"layers.1.wo"}),
        {"h.#.attn.c_proj.bias", Place::mixer, {"layers.1.bo"}},
        {"h.#.ln_2.weight", Place::mlp, {"layers.0.gain"}},
        {"h.#.ln_2.bias", Place::mlp, {"layers.0.bias"}},
        projection("h.#.mlp.c_fc.weight", Place::mlp, {"layers.1.weight"}),
        {"h.#.mlp.c_fc.bias", Place::mlp, {"layers.1.bias"}},
        projection("h.#.mlp.c_proj.weight", Place::mlp, {"layers.2.weight"}),
        {"h.#.mlp.c_proj.bias", Place::mlp, {"layers.2.bias"}},
        {"ln_f.weight", Place::final_norm, {"gain"}},
        {"ln_f.bias", Place::final_norm, {"bias"}},
        {"lm_head.weight", Place::head, {"weight"}}};
    // Causal masks.
    family.buffers = {"transformer.h.#.attn.bias", "transformer.h.#.attn.masked_bias"};
    family.complete = complete_widths;
    family.layers = plain_transformer;
    family.describe = describe_plain_transformer;
    return family;
}

}  // namespace cambrian::models
