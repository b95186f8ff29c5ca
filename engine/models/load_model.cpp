#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/models/family.hpp"
#include "cambrian/engine/models/model_files.hpp"
#include "cambrian/engine/network/network_text.hpp"

namespace cambrian::models {
namespace {

namespace fs = std::filesystem;

/// A config.json beside the tensors.
struct ModelConfig {
    std::string source;
    nlohmann::json json;
    std::string type;  ///< Its "model_type"; empty where it has none.
};

std::optional<ModelConfig> read_config(const TensorFiles& files) {
    const fs::path path = files.folder() / "config.json";
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) return std::nullopt;
    const std::vector<std::byte> bytes = read_file(path, network_text_limits.length);
    ModelConfig config{path.string(), {}, ""};
    try {
        config.json = json_text::parse(
            std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
            network_text_limits);
    } catch (const InputError& error) {
        throw InputError(fmt::format("{}: {}", path.string(), error.what()));
    }
    if (!config.json.is_object())
        throw InputError(
            fmt::format("{} is no config of a model (it is no object) mend it", path.string()));
    if (config.json.contains("model_type") && config.json["model_type"].is_string())
        config.type = config.json["model_type"].get<std::string>();
    return config;
}

void add_parameters(LoadedModel& model, ModelPlan plan, const TensorFiles& files) {
    const Network network(std::move(plan.blueprint));
    model.weights = read_weights(plan, network, files);
    model.blueprint = network.blueprint();
    model.notes.insert(model.notes.end(), plan.notes.begin(), plan.notes.end());
    std::size_t buffers = 0;
    for (const auto& [name, entry] : files.entries())
        if (std::ranges::any_of(plan.buffers, [&](const std::string& pattern) {
                return fits_pattern(name, pattern);
            }))
            ++buffers;
    if (buffers > 0)
        model.notes.push_back(fmt::format(
            "left out: {} tensors that hold nothing learnt (masks, counters)", buffers));
}

/// A chain of modules: as a config of ours says, or from names and shapes.
LoadedModel load_modules(const TensorFiles& files, const std::optional<ModelConfig>& config,
                         const UniversalOptions& options) {
    LoadedModel model;
    model.family = torch_family;
    if (config && config->type == torch_family && config->json.contains("network")) {
        ModelPlan plan;
        try {
            plan.blueprint = blueprint_from_json(config->json["network"]);
        } catch (const Error& error) {
            throw InputError(fmt::format("{}: {}", config->source, error.what()));
        }
        const Network network(plan.blueprint);
        plan.rules = module_rules(network);
        plan.buffers = module_buffers(network);
        add_parameters(model, std::move(plan), files);
        if (config->json.contains("preparation"))
            model.preparation = config->json["preparation"].dump();
        return model;
    }
    UniversalPlan found = universal_plan(files, options);
    model.layers = std::move(found.layers);
    add_parameters(model, std::move(found.plan), files);
    return model;
}

bool is_given(const UniversalOptions& options) {
    return !options.fields.empty() || !options.insertions.empty() || !options.order.empty() ||
           !options.blocks.empty() || !options.input.empty();
}

std::string known_types() {
    std::vector<std::string_view> types;
    for (const Family& family : families())
        types.insert(types.end(), family.model_types.begin(), family.model_types.end());
    return joined(std::span<const std::string_view>(types));
}

}  // namespace

std::vector<std::string_view> family_choices() {
    std::vector<std::string_view> names{auto_family};
    const std::vector<std::string_view> known = family_names();
    names.insert(names.end(), known.begin(), known.end());
    names.push_back(torch_family);
    return names;
}

LoadedModel load_model(const fs::path& path, std::string_view name,
                       const UniversalOptions& options) {
    const TensorFiles files(path);
    const std::optional<ModelConfig> config = read_config(files);
    const bool has_type = config && !config->type.empty();
    const Family* family = !config    ? nullptr
                           : has_type ? family_of_type(config->type)
                                      : family_of_config(config->json);
    if (name == torch_family ||
        (name == auto_family && (has_type ? config->type == torch_family : family == nullptr)))
        return load_modules(files, config, options);
    if (!has_type && family == nullptr)
        throw InputError(fmt::format(
            "{} has no config.json with a \"model_type\" (a {} is read by it) fetch it, or read "
            "names and shapes with --family torch",
            files.folder().empty() ? "." : files.folder().string(), name));
    if (family == nullptr || (name != auto_family && family->name != name))
        throw InputError(fmt::format("{} is of the type \"{}\" ({}) {}", config->source,
                                     has_type ? shortened(config->type) : std::string(family->name),
                                     family == nullptr
                                         ? "known are " + known_types()
                                         : "that is --family " + std::string(family->name),
                                     family == nullptr ? "read names and shapes with --family torch"
                                                       : "leave --family out"));
    if (is_given(options))
        throw ConfigError(fmt::format(
            "--with, --after, --order, --blocks and --input have no use here ({} says what the "
            "model is) leave them out, or read names and shapes with --family torch",
            config->source));
    LoadedModel model;
    model.family = family->name;
    const LanguageModel settings =
        read_model_config(*family, config->json, config->source, model.notes);
    ModelPlan plan;
    try {
        plan = plan_of(*family, settings, files);
    } catch (const ShapeError& error) {
        throw InputError(fmt::format("{}: {}", config->source, error.what()));
    }
    add_parameters(model, std::move(plan), files);
    return model;
}

}  // namespace cambrian::models
