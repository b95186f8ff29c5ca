#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/models/family.hpp"

// The config.json of a language model.
namespace cambrian::models {
namespace {

/// Keys that tell how a model is trained, stored or asked, not what it computes, and those that
/// Family::complete looks at.
constexpr std::array<std::string_view, 27> harmless{"_name_or_path",
                                                    "architectures",
                                                    "attention_dropout",
                                                    "attn_pdrop",
                                                    "bos_token_id",
                                                    "dtype",
                                                    "embd_pdrop",
                                                    "eos_token_id",
                                                    "gradient_checkpointing",
                                                    "hidden_dropout_prob",
                                                    "id2label",
                                                    "initializer_range",
                                                    "keys_to_ignore_at_inference",
                                                    "label2id",
                                                    "max_window_layers",
                                                    "model_type",
                                                    "pad_token_id",
                                                    "resid_pdrop",
                                                    "return_dict",
                                                    "rope_parameters",
                                                    "rope_scaling",
                                                    "task_specific_params",
                                                    "torch_dtype",
                                                    "transformers_version",
                                                    "unk_token_id",
                                                    "use_cache",
                                                    "layer_types"};
constexpr std::int64_t longest_setting = std::int64_t{1} << 30U;

/// What the library transformers calls activations; of several names the first is written.
struct ActivationName {
    std::string_view theirs;
    Activation ours;
};
constexpr std::array<ActivationName, 9> activation_functions{{{"gelu_new", Activation::gelu},
                                                          {"gelu_pytorch_tanh", Activation::gelu},
                                                          {"gelu_fast", Activation::gelu},
                                                          {"gelu", Activation::exact_gelu},
                                                          {"gelu_python", Activation::exact_gelu},
                                                          {"relu", Activation::relu},
                                                          {"silu", Activation::silu},
                                                          {"swish", Activation::silu},
                                                          {"tanh", Activation::tanh}}};

[[noreturn]] void refuse_config(std::string_view source, std::string_view key,
                                const std::string& what, std::string_view why) {
    throw InputError(
        fmt::format("{}: \"{}\" {} ({}) mend it, or choose another model", source, key, what, why));
}

void read_member(LanguageModel& model, std::int64_t LanguageModel::*member,
                 const nlohmann::json& value, std::string_view source, std::string_view key) {
    if (!value.is_number_integer() || value.get<double>() < 0.0 ||
        value.get<double>() > static_cast<double>(longest_setting))
        refuse_config(source, key, "is " + json_text::shown(value), "it is a count");
    model.*member = value.get<std::int64_t>();
}

void read_member(LanguageModel& model, float LanguageModel::*member, const nlohmann::json& value,
                 std::string_view source, std::string_view key) {
    if (!value.is_number() || !(value.get<double>() >= 0.0) || value.get<double>() > 1e30)
        refuse_config(source, key, "is " + json_text::shown(value), "it is a number, 0 or more");
    model.*member = static_cast<float>(value.get<double>());
}

void read_member(LanguageModel& model, bool LanguageModel::*member, const nlohmann::json& value,
                 std::string_view source, std::string_view key) {
    if (!value.is_boolean())
        refuse_config(source, key, "is " + json_text::shown(value), "it is true or false");
    model.*member = value.get<bool>();
}

void read_member(LanguageModel& model, Activation LanguageModel::*member,
                 const nlohmann::json& value, std::string_view source, std::string_view key) {
    const auto* const found = std::ranges::find_if(
        activation_functions,
        [&](const ActivationName& activation) { return value == activation.theirs; });
    if (found == activation_functions.end()) {
        std::vector<std::string_view> names;
        for (const ActivationName& activation : activation_functions)
            names.push_back(activation.theirs);
        refuse_config(source, key, "is " + json_text::shown(value),
                      "computed here is " + joined(std::span(names)));
    }
    model.*member = found->ours;
}

void read_key(const ConfigKey& key, const nlohmann::json& config, LanguageModel& model,
              std::string_view source) {
    const auto found = config.find(std::string(key.name));
    if (key.use == KeyUse::automatic && found != config.end() && *found == "auto") return;
    if (found == config.end() || found->is_null()) {
        if (key.use == KeyUse::required)
            refuse_config(source, key.name, "is missing", "the network follows from it");
        return;
    }
    std::visit([&](auto member) { read_member(model, member, *found, source, key.name); },
               key.member);
}

void check_fixed(const FixedKey& key, const nlohmann::json& config, std::string_view source) {
    const auto found = config.find(std::string(key.name));
    if (found == config.end()) return;
    for (const std::string_view value : key.values)
        if (*found == nlohmann::json::parse(value)) return;
    refuse_config(source, key.name, "is " + json_text::shown(*found),
                  "computed here is " + joined(std::span(key.values)));
}

bool is_known(const Family& family, std::string_view key) {
    return std::ranges::find(family.keys, key, &ConfigKey::name) != family.keys.end() ||
           std::ranges::find(family.fixed, key, &FixedKey::name) != family.fixed.end() ||
           std::ranges::find(family.unread, key) != family.unread.end() ||
           std::ranges::find(harmless, key) != harmless.end() || key.starts_with("summary_");
}

/// A float as its shortest decimal number.
nlohmann::ordered_json shown_value(float value) {
    return nlohmann::ordered_json::parse(fmt::format("{}", value));
}
/// Of one without a name it is another's: who describes a network compares what its config says.
nlohmann::ordered_json shown_value(Activation value) {
    const auto* const found = std::ranges::find(activation_functions, value, &ActivationName::ours);
    return (found == activation_functions.end() ? activation_functions.front() : *found).theirs;
}
template <class Value>
nlohmann::ordered_json shown_value(Value value) {
    return value;
}

}  // namespace

LanguageModel read_model_config(const Family& family, const nlohmann::json& config,
                                std::string_view source, std::vector<std::string>& notes) {
    LanguageModel model = family.defaults;
    for (const ConfigKey& key : family.keys) read_key(key, config, model, source);
    for (const FixedKey& key : family.fixed) check_fixed(key, config, source);
    if (family.complete != nullptr) {
        try {
            family.complete(model, config);
        } catch (const InputError& error) {
            throw InputError(fmt::format("{}: {}", source, error.what()));
        }
    }
    std::vector<std::string> unread;
    for (const auto& [key, value] : config.items())
        if (!is_known(family, key)) unread.push_back(shortened(key, 60));
    if (!unread.empty())
        notes.push_back(fmt::format("{}: keys not read: {}", source, joined(unread)));
    return model;
}

nlohmann::ordered_json model_config(const Family& family, const LanguageModel& model) {
    nlohmann::ordered_json config;
    config["architectures"] = {family.architecture};
    config["model_type"] = family.model_types.front();
    for (const ConfigKey& key : family.keys)
        std::visit(
            [&](auto member) {
                // A window of 0 is none.
                const auto value = model.*member;
                if (key.name == "sliding_window" && value == decltype(value){}) return;
                config[std::string(key.name)] = shown_value(value);
            },
            key.member);
    for (const FixedKey& key : family.fixed)
        config[std::string(key.name)] = nlohmann::ordered_json::parse(key.values.front());
    if (family.write != nullptr) family.write(model, config);
    return config;
}

}  // namespace cambrian::models
