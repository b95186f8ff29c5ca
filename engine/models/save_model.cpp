#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/io/safetensors_index.hpp"
#include "cambrian/engine/models/family.hpp"
#include "cambrian/engine/models/model_files.hpp"
#include "cambrian/engine/models/transformer_blocks.hpp"
#include "cambrian/engine/network/network_text.hpp"
#include "cambrian/engine/network/ties.hpp"
#include "cambrian/engine/network/weight_formats.hpp"

namespace cambrian::models {
namespace {

namespace fs = std::filesystem;

/// What is written into a folder.
struct WrittenModel {
    ModelPlan plan;
    nlohmann::ordered_json config;
    std::vector<std::string> notes;
};

WrittenModel written_modules(const Network& network, const std::string& preparation) {
    WrittenModel result;
    result.plan.rules = module_rules(network);
    result.config["model_type"] = torch_family;
    result.config["network"] = network_section(network.blueprint());
    if (!preparation.empty())
        result.config["preparation"] = json_text::parse_ordered(preparation, network_text_limits);
    const auto note_tie = [&](const std::string& layer, const AnyLayer& any) {
        if (const std::optional<Tie> tie = tie_of(any))
            result.notes.push_back(
                fmt::format("tied: {} has no weight of its own but \"slot.{}.{}\"", layer,
                            tie->slot, tie->parameter));
    };
    const Blueprint& blueprint = network.blueprint();
    for (std::size_t i = 0; i < blueprint.slots.size(); ++i)
        if (blueprint.slots[i]) note_tie(fmt::format("slot {}", i), blueprint.slots[i]->layer);
    note_tie("the head", blueprint.head);
    return result;
}

WrittenModel written_model(std::string_view name, const Network& network,
                           std::span<const float> weights, const std::string& preparation) {
    if (name == torch_family) return written_modules(network, preparation);
    std::string why;
    for (const Family& family : families()) {
        if (family.name != name || family.describe == nullptr) continue;
        try {
            DescribedModel described = describe(family, network, weights);
            WrittenModel result{
                std::move(described.plan), model_config(family, described.model), {}};
            if (described.model.tied)
                result.notes.emplace_back(
                    "tied: embedding and head have the same weights and are one tensor");
            const LanguageModel& model = described.model;
            if (model.rope_factor != 1.0F && window_of(model) != model.positions)
                result.notes.push_back(
                    fmt::format("positions: max_position_embeddings is {}, the window of {} "
                                "divided by the factor {}",
                                model.positions, window_of(model), model.rope_factor));
            return result;
        } catch (const ConfigError& error) {
            why = error.what();
        }
    }
    throw ConfigError(why);
}

std::uint64_t bytes_of(const PlannedTensor& tensor, StoredType type) {
    return static_cast<std::uint64_t>(tensor.shape.elements()) * row(type).bits / 8;
}

/// Tensors that are one file each.
using Shards = std::vector<std::vector<PlannedTensor>>;

/// Tensors one after another in files of so many bytes.
Shards shards_of(std::vector<PlannedTensor> tensors, const SaveOptions& options) {
    Shards shards(1);
    std::uint64_t used = 0;
    for (PlannedTensor& tensor : tensors) {
        const std::uint64_t bytes = bytes_of(tensor, options.type);
        if (!shards.back().empty() && used + bytes > options.shard_bytes) {
            shards.emplace_back();
            used = 0;
        }
        used += bytes;
        shards.back().push_back(std::move(tensor));
    }
    return shards;
}

std::string shard_name(std::size_t shard, std::size_t count) {
    return count == 1 ? "model.safetensors"
                      : fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, count);
}

SafetensorsIndex index_of(const Shards& shards, const SaveOptions& options) {
    SafetensorsIndex index;
    for (std::size_t i = 0; i < shards.size(); ++i)
        for (const PlannedTensor& tensor : shards[i]) {
            index.files.emplace(tensor.name, shard_name(i, shards.size()));
            index.total_size += bytes_of(tensor, options.type);
        }
    return index;
}

void require_no_model(const fs::path& folder) {
    std::error_code error;
    if (!fs::exists(folder, error)) return;
    if (!fs::is_directory(folder, error))
        throw ConfigError(
            fmt::format("{} is a file (models are folders) name another place", folder.string()));
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (name == "config.json" || name.ends_with(".safetensors") ||
            name.ends_with(".index.json"))
            throw ConfigError(fmt::format(
                "{} has a model already ({}: what is left of it would be read with the new one) "
                "name another folder, or empty it",
                folder.string(), name));
    }
}

void write_text(const fs::path& path, const std::string& text) {
    write_file_atomically(path, std::as_bytes(std::span(text)));
}

/// Writes a network whose weights have no number formats.
SavedModel save_plain(const fs::path& folder, std::string_view family, const Network& network,
                      std::span<const float> weights, const SaveOptions& options) {
    WrittenModel model = written_model(family, network, weights, options.preparation);
    model.config["torch_dtype"] = torch_type(options.type);
    const NamedRanges ranges(network);
    check_zeros(model.plan, ranges, weights);
    require_no_model(folder);
    const Shards shards = shards_of(planned_tensors(model.plan, ranges), options);
    const std::string index = shards.size() > 1 ? encode(index_of(shards, options)) : "";
    const std::string config = model.config.dump(2) + "\n";
    check_network_text(config, (folder / "config.json").string());
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
        throw InputError(fmt::format("{} cannot be made ({}) choose another place", folder.string(),
                                     error.message()));
    for (std::size_t i = 0; i < shards.size(); ++i) {
        Safetensors content;
        content.metadata["format"] = "pt";
        for (const PlannedTensor& tensor : shards[i])
            content.tensors.emplace(tensor.name,
                                    write_tensor(tensor, ranges, weights, options.type));
        write_safetensors(folder / shard_name(i, shards.size()), content);
    }
    if (!index.empty()) write_text(folder / "model.safetensors.index.json", index);
    write_text(folder / "config.json", config);
    return {shards.size(), std::move(model.notes)};
}

}  // namespace

SavedModel save_model(const fs::path& folder, std::string_view family, const Network& network,
                      std::span<const float> weights, const SaveOptions& options) {
    Blueprint blueprint = network.blueprint();
    if (family != torch_family && encodes_activations(blueprint))
        throw ConfigError(fmt::format(
            "the network cannot be written as {} (its rows have a number format, and models of "
            "others round none) take it away with quantise, or write .cmb or .safetensors",
            family));
    if (!encodes_weights(blueprint)) return save_plain(folder, family, network, weights, options);
    std::set<std::string> formats;
    for_each_formats(blueprint, [&](LayerFormats& own) {
        if (own.weights != Dtype::float32) formats.insert(weights_text(own));
        own = {.activations = own.activations};  // Of torch_family, whose config has them.
    });
    SavedModel saved = save_plain(folder, family, Network(std::move(blueprint)),
                                  evaluated_weights(network, weights), options);
    saved.notes.push_back(fmt::format(
        "weights are the numbers that their codes of {} stand for: no format of weights is kept",
        fmt::join(formats, ", ")));
    return saved;
}

}  // namespace cambrian::models
