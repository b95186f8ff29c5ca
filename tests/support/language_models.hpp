#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/network/network.hpp"

// Small networks that read tokens and answer with a logit for each.
namespace cambrian::test {

inline constexpr std::int64_t language_vocabulary = 17;

struct LanguageModel {
    std::string_view name;
    const char* layers;  ///< After an embedding of 8 features, before the head.
    const char* embedding = "";
};

inline const std::vector<LanguageModel>& language_models() {
    static const std::vector<LanguageModel> models{
        {"llama", R"({"type": "residual", "layers": [{"type": "rms_norm"},
             {"type": "multi_head_attention", "heads": 4, "kv_heads": 2, "head_dim": 2,
              "rope_base": 100, "bias": false}]},
            {"type": "residual", "layers": [{"type": "rms_norm"}, {"type": "swiglu", "hidden": 9}]},
            {"type": "residual", "layers": [{"type": "multi_head_attention", "heads": 2,
              "rope_base": 1000, "qk_norm": true}]}, {"type": "rms_norm"})"},
        {"gpt", R"({"type": "residual", "layers": [{"type": "layer_norm"},
             {"type": "multi_head_attention", "heads": 2}]},
            {"type": "residual", "layers": [{"type": "layer_norm"},
             {"type": "dense", "out": 12, "activation": "gelu"}, {"type": "dense", "out": 8}]})",
         R"(, "positions": 48)"},
        {"branches", R"({"type": "parallel", "combine": "add", "branches": [
             {"type": "multi_head_attention", "heads": 2, "rope_base": 10},
             {"type": "sequential", "layers": [{"type": "dense", "out": 8},
              {"type": "multi_head_attention", "heads": 1}]}]})"},
        {"recurrent", R"({"type": "lstm", "hidden": 8}, {"type": "residual", "layers": [
             {"type": "multi_head_attention", "heads": 2, "rope_base": 100}]})"},
        {"stateless", R"({"type": "dense", "out": 8, "activation": "tanh"})"},
    };
    return models;
}

[[nodiscard]] inline Network language_network(const LanguageModel& model) {
    const std::string text =
        R"({"layers": [{"type": "embedding", "vocabulary": 17, "features": 8)" +
        std::string(model.embedding) + "}, " + model.layers + R"(, {"type": "dense"}]})";
    return Network(blueprint_from_json(nlohmann::json::parse(text), 1, language_vocabulary));
}

/// Weights that make sharp answers, so that texts are not alike.
[[nodiscard]] inline std::vector<std::vector<float>> language_weights(const Network& network,
                                                                      std::size_t count) {
    std::vector<std::vector<float>> all;
    for (std::size_t i = 0; i < count; ++i) {
        RandomStream rng(random_key(5, "language"), i);
        all.push_back(network.initial_weights(rng));
        for (float& weight : all.back()) weight = 1.5F * weight + 0.05F * rng.normal();
    }
    return all;
}

}  // namespace cambrian::test
