#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/models/family.hpp"

namespace cambrian::models {
namespace {

using M = LanguageModel;

std::vector<AnyLayer> state_space_model(const LanguageModel& model) {
    std::vector<AnyLayer> layers;
    layers.emplace_back(Embedding{.vocabulary = model.vocabulary, .features = model.features});
    for (std::int64_t i = 0; i < model.blocks; ++i)
        layers.emplace_back(Mamba{.features = model.features,
                                  .state_size = model.state_size,
                                  .expand = model.expand,
                                  .kernel = model.kernel,
                                  .dt_rank = model.time_step_rank,
                                  // What comes in is weighed by the step alone, in all programs
                                  // that run these models.
                                  .discretization = Discretization::euler,
                                  .epsilon = model.epsilon});
    layers.emplace_back(RmsNorm{.features = model.features, .epsilon = model.epsilon});
    layers.emplace_back(Dense{.in = model.features, .out = model.vocabulary, .bias = false});
    return layers;
}

std::optional<LanguageModel> describe_state_space_model(std::span<const AnyLayer> chain) {
    if (chain.size() < 4) return std::nullopt;
    const auto* embedding = std::get_if<Embedding>(&chain[0].variant());
    const auto* block = std::get_if<Mamba>(&chain[1].variant());
    if (embedding == nullptr || block == nullptr) return std::nullopt;
    LanguageModel model;
    model.vocabulary = embedding->vocabulary;
    model.features = embedding->features;
    model.blocks = static_cast<std::int64_t>(chain.size()) - 3;
    model.state_size = block->state_size;
    model.expand = block->expand;
    model.kernel = block->kernel;
    model.time_step_rank = block->dt_rank;
    model.epsilon = block->epsilon;
    return model;
}

std::vector<TensorRow> state_space_tensors() {
    const auto mixer = [](std::string_view theirs, std::string_view ours) {
        return TensorRow{theirs, Place::mixer, {ours}};
    };
    TensorRow embedding{"embeddings.weight", Place::embedding, {"table"}};
    embedding.other = "embedding.weight";
    return {embedding,
            mixer("layers.#.norm.weight", "norm.gain"),
            mixer("layers.#.mixer.in_proj.weight", "in_proj"),
            mixer("layers.#.mixer.conv1d.weight", "conv_weight"),
            mixer("layers.#.mixer.conv1d.bias", "conv_bias"),
            mixer("layers.#.mixer.x_proj.weight", "x_proj"),
            mixer("layers.#.mixer.dt_proj.weight", "dt_proj"),
            mixer("layers.#.mixer.dt_proj.bias", "dt_bias"),
            mixer("layers.#.mixer.A_log", "a_log"),
            mixer("layers.#.mixer.D", "skip"),
            mixer("layers.#.mixer.out_proj.weight", "out_proj"),
            {"norm_f.weight", Place::final_norm, {"gain"}},
            {"lm_head.weight", Place::head, {"weight"}}};
}

/// What both ways of keeping a model share.
Family state_space_family() {
    Family family;
    family.name = "mamba";
    family.prefix = "backbone.";
    family.defaults = {.epsilon = 1e-5F, .tied = true, .state_size = 16, .expand = 2, .kernel = 4};
    family.tensors = state_space_tensors();
    family.block_layers = 1;
    family.layers = state_space_model;
    return family;
}

/// Their channels are written, too, where ours follow.
void check_channels(LanguageModel& model, const nlohmann::json& config) {
    const auto found = config.find("intermediate_size");
    if (found == config.end() || *found == model.expand * model.features) return;
    throw InputError(fmt::format(
        "\"intermediate_size\" is {} (channels are expand times hidden_size here, {}) mend it, or "
        "choose another model",
        json_text::shown(*found), model.expand * model.features));
}

/// A setting of "ssm_cfg" that can have one value only.
void require_setting(const std::string& key, const nlohmann::json& value,
                     const nlohmann::json& only) {
    if (value == only) return;
    throw InputError(
        fmt::format("\"ssm_cfg\" has \"{}\": {} (computed here is {}) choose another model", key,
                    json_text::shown(value), only.dump()));
}

std::int64_t count(const std::string& key, const nlohmann::json& value) {
    constexpr std::int64_t largest = std::int64_t{1} << 30U;
    if (value.is_number_integer() && value >= 1 && value <= largest)
        return value.get<std::int64_t>();
    throw InputError(fmt::format("\"{}\" is {} (it is a count, 1 or more) mend it", key,
                                 json_text::shown(value)));
}

/// One of "ssm_cfg": the width of a part, what nothing but the start of a training depends on, or
/// what must be as it is here.
void read_setting(LanguageModel& model, const std::string& key, const nlohmann::json& value) {
    static constexpr std::array<std::string_view, 7> of_training{
        "dt_min", "dt_max", "dt_init", "dt_scale", "dt_init_floor", "use_fast_path", "layer_idx"};
    if (key == "d_state") {
        model.state_size = count(key, value);
    } else if (key == "d_conv") {
        model.kernel = count(key, value);
    } else if (key == "expand") {
        model.expand = count(key, value);
    } else if (key == "dt_rank") {
        if (value != "auto") model.time_step_rank = count(key, value);
    } else if (key == "layer") {
        require_setting(key, value, "Mamba1");
    } else if (key == "conv_bias") {
        require_setting(key, value, true);
    } else if (key == "bias") {
        require_setting(key, value, false);
    } else if (std::ranges::find(of_training, key) == of_training.end()) {
        throw InputError(
            fmt::format("\"ssm_cfg\" has \"{}\" (known are d_state, d_conv, expand, dt_rank) "
                        "choose another model",
                        shortened(key, 60)));
    }
}

void complete_state_spaces(LanguageModel& model, const nlohmann::json& config) {
    if (const auto found = config.find("ssm_cfg"); found != config.end() && !found->is_null()) {
        if (!found->is_object())
            throw InputError(fmt::format("\"ssm_cfg\" is {} (it is an object) mend it",
                                         json_text::shown(*found)));
        for (const auto& [key, value] : found->items()) read_setting(model, key, value);
    }
    // Rows that no id asks for round the table up.
    const auto multiple = config.contains("pad_vocab_size_multiple")
                              ? count("pad_vocab_size_multiple", config["pad_vocab_size_multiple"])
                              : 8;
    model.vocabulary = (model.vocabulary + multiple - 1) / multiple * multiple;
}

bool is_state_spaces(const nlohmann::json& config) {
    return config.contains("d_model") && config.contains("n_layer") && config.contains("ssm_cfg");
}

}  // namespace

// Gu and Dao, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces", 2023; keys as the
// library transformers has them.
Family mamba_family() {
    Family family = state_space_family();
    family.model_types = {"mamba"};
    family.architecture = "MambaForCausalLM";
    family.keys = {{"vocab_size", &M::vocabulary},
                   {"hidden_size", &M::features},
                   {"num_hidden_layers", &M::blocks},
                   {"state_size", &M::state_size, KeyUse::optional},
                   {"expand", &M::expand, KeyUse::optional},
                   {"conv_kernel", &M::kernel, KeyUse::optional},
                   {"time_step_rank", &M::time_step_rank, KeyUse::automatic},
                   {"layer_norm_epsilon", &M::epsilon, KeyUse::optional},
                   {"tie_word_embeddings", &M::tied, KeyUse::optional}};
    family.fixed = {
        {"hidden_act", {"\"silu\""}}, {"use_bias", {"false"}}, {"use_conv_bias", {"true"}}};
    family.unread = {"time_step_scale", "time_step_min", "time_step_max", "time_step_init_scheme",
                     "time_step_floor", "rescale_prenorm_residual", "residual_in_fp32",
                     "use_mambapy", "use_associative_scan", "intermediate_size",
                     // Left by who turned a model of the other kind into this one.
                     "d_model", "d_inner", "n_layer", "ssm_cfg", "rms_norm", "fused_add_norm",
                     "pad_vocab_size_multiple"};
    family.complete = check_channels;
    family.describe = describe_state_space_model;
    return family;
}

Family state_spaces_family() {
    Family family = state_space_family();
    family.keys = {{"vocab_size", &M::vocabulary},
                   {"d_model", &M::features},
                   {"n_layer", &M::blocks},
                   {"tie_embeddings", &M::tied, KeyUse::optional}};
    family.fixed = {{"rms_norm", {"true"}}, {"d_intermediate", {"0"}}, {"attn_layer_idx", {"[]"}}};
    family.unread = {"ssm_cfg", "pad_vocab_size_multiple", "residual_in_fp32", "fused_add_norm",
                     "attn_cfg"};
    family.complete = complete_state_spaces;
    family.recognise = is_state_spaces;
    return family;
}

}  // namespace cambrian::models
