#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cambrian/engine/models/tensor_rule.hpp"

// Families of language models: what their config.json and their tensors are called, and the layers
// that they have here. A family is one file with its tables, and a name in family.cpp.
namespace cambrian::models {

/// What the config of a language model says.
struct LanguageModel {
    std::int64_t vocabulary = 0;
    std::int64_t features = 0;
    std::int64_t hidden = 0;  ///< Of the gated or plain layers between features and features.
    std::int64_t blocks = 0;
    std::int64_t heads = 1;
    std::int64_t kv_heads = 0;   ///< 0: as many as heads.
    std::int64_t head_dim = 0;   ///< 0: features / heads.
    std::int64_t positions = 0;  ///< That attention looks back on at most.
    std::int64_t sliding = 0;    ///< 0: all positions.
    float epsilon = 0.0F;
    float rope_base = 0.0F;
    // As MultiHeadAttention has them.
    float rope_factor = 1.0F;
    std::int64_t rope_original = 0;
    float rope_low = 1.0F;
    float rope_high = 4.0F;
    bool rope_yarn = false;
    bool rope_truncate = true;
    float rope_gain = 1.0F;
    bool tied = false;  ///< One tensor is the embedding and the head, in the network, too.
    bool attention_bias = false;
    bool mlp_bias = false;
    bool normed_heads = false;  ///< Queries and keys, with the same epsilon as all norms.
    Activation activation = Activation::gelu;  ///< Of plain layers between features and features.
    // Of state spaces.
    std::int64_t state_size = 0;
    std::int64_t expand = 0;  ///< Channels for each feature.
    std::int64_t kernel = 0;
    std::int64_t time_step_rank = 0;  ///< 0: a sixteenth of the features, rounded up.
};

using LanguageModelMember = std::variant<std::int64_t LanguageModel::*, float LanguageModel::*,
                                         bool LanguageModel::*, Activation LanguageModel::*>;

enum class KeyUse : std::uint8_t {
    required,
    optional,   ///< Missing and null leave the family's default.
    automatic,  ///< As optional, and so does "auto".
};
/// A key of config.json.
struct ConfigKey {
    std::string_view name;
    LanguageModelMember member;
    KeyUse use = KeyUse::required;
};
/// A key of config.json that must have one of the values (as JSON, the first is written) where it
/// is there: nothing else is computed here.
struct FixedKey {
    std::string_view name;
    std::vector<std::string_view> values;
};

/// Which layer of the chain a tensor belongs to.
enum class Place : std::uint8_t { embedding, mixer, mlp, final_norm, head };

/// A row of the table of a family.
struct TensorRow {
    std::string_view
        theirs;  ///< After the prefix, but for the head; '#' is the block. Empty: none.
    Place place{};
    std::vector<std::string_view> ours;  ///< In the layer. Left out where it has no such parameter.
    Form form = Form::same;
    std::string_view other{};  ///< What some files call it instead.
};

struct Family {
    std::string_view name;  ///< As the option --family says it; several may share one.
    std::vector<std::string_view> model_types;  ///< Of config.json; the first is written.
    std::string_view architecture;              ///< The class that other programs load it by.
    std::string_view prefix;                    ///< Of the names of tensors; some files lack it.
    LanguageModel defaults;
    std::vector<ConfigKey> keys;
    std::vector<FixedKey> fixed;
    std::vector<TensorRow> tensors;
    std::vector<std::string_view> buffers;
    std::vector<std::string_view> unread{};  ///< Keys of config.json that change nothing here.
    /// Of a block: Place::mixer alone, or Place::mixer and Place::mlp.
    std::int64_t block_layers = 2;
    /// What keys alone do not say: widths that follow from others, settings in lists of their own.
    void (*complete)(LanguageModel&, const nlohmann::json& config) = nullptr;
    /// The same into a config that is written.
    void (*write)(const LanguageModel&, nlohmann::ordered_json& config) = nullptr;
    /// The chain; the head is last, and is tied by who asks (blueprint_of).
    std::vector<AnyLayer> (*layers)(const LanguageModel&) = nullptr;
    /// What a chain may be, or nothing where it is not of the family; `layers` decides. Null: the
    /// family is read and never written.
    std::optional<LanguageModel> (*describe)(std::span<const AnyLayer> chain) = nullptr;
    /// Whether a config without a "model_type" is of the family; null: it never is.
    bool (*recognise)(const nlohmann::json& config) = nullptr;
};

/// All of them.
[[nodiscard]] std::span<const Family> families();
/// Their names, each once.
[[nodiscard]] std::vector<std::string_view> family_names();
/// Of a "model_type"; null for another.
[[nodiscard]] const Family* family_of_type(std::string_view model_type);
/// Of a config.json that has none; null where nothing tells.
[[nodiscard]] const Family* family_of_config(const nlohmann::json& config);

/// Reads a config. Throws InputError that names key and value where one is missing, of the wrong
/// kind, or asks for what is not computed here. Keys that are not read are named in `notes`, but
/// for those known to change nothing.
[[nodiscard]] LanguageModel read_model_config(const Family& family, const nlohmann::json& config,
                                              std::string_view source,
                                              std::vector<std::string>& notes);
[[nodiscard]] nlohmann::ordered_json model_config(const Family& family, const LanguageModel& model);

/// The network of a model. Throws ShapeError for widths that do not fit.
[[nodiscard]] Blueprint blueprint_of(const Family& family, const LanguageModel& model);
/// The plan to read files by.
[[nodiscard]] ModelPlan plan_of(const Family& family, const LanguageModel& model,
                                const TensorFiles& files);
/// The model that a network is, with the plan to write it by: tied where embedding and head are one
/// tensor, or have the same weights. Throws ConfigError that names the first layer that is not of
/// the family.
struct DescribedModel {
    LanguageModel model;
    ModelPlan plan;
};
[[nodiscard]] DescribedModel describe(const Family& family, const Network& network,
                                      std::span<const float> weights);

// The families, each in a file of its own.
[[nodiscard]] Family llama_family();
[[nodiscard]] Family mistral_family();
[[nodiscard]] Family gpt2_family();
[[nodiscard]] Family qwen2_family();
[[nodiscard]] Family qwen3_family();
[[nodiscard]] Family mamba_family();
/// The same models as the programs of their authors keep them.
[[nodiscard]] Family state_spaces_family();

}  // namespace cambrian::models
