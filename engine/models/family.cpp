#include "cambrian/engine/models/family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/layers/layer_json.hpp"

namespace cambrian::models {
namespace {

/// Of the layer of a place.
std::int64_t slot_of(const Family& family, const LanguageModel& model, Place place,
                     std::int64_t block) {
    const std::int64_t blocks_end = 1 + family.block_layers * model.blocks;
    switch (place) {
        case Place::embedding:
            return 0;
        case Place::mixer:
            return 1 + family.block_layers * block;
        case Place::mlp:
            return 2 + family.block_layers * block;
        case Place::final_norm:
            return blocks_end;
        case Place::head:
            return blocks_end + 1;
    }
    CAMBRIAN_ASSERT(false);
    return 0;
}

bool in_blocks(Place place) {
    return place == Place::mixer || place == Place::mlp;
}

std::vector<std::string> our_names(const Family& family, const LanguageModel& model,
                                   const TensorRow& row, std::int64_t block) {
    const std::string layer =
        row.place == Place::head
            ? "head."
            : fmt::format("slot.{}.", slot_of(family, model, row.place, block));
    std::vector<std::string> names;
    for (const std::string_view parameter : row.ours)
        names.push_back(layer + std::string(parameter));
    return names;
}

std::string their_name(const TensorRow& row, std::string_view prefix, std::int64_t block) {
    if (row.theirs.empty()) return "";
    std::string name = row.place == Place::head ? std::string(row.theirs)
                                                : fmt::format("{}{}", prefix, row.theirs);
    if (const std::size_t place = name.find('#'); place != std::string::npos)
        name.replace(place, 1, std::to_string(block));
    return name;
}

std::string embedding_name(const Family& family, std::string_view prefix) {
    for (const TensorRow& row : family.tensors)
        if (row.place == Place::embedding) return their_name(row, prefix, 0);
    CAMBRIAN_ASSERT(false);
    return "";
}

/// Which tensor the head of a network with a weight of its own is.
enum class Heads : std::uint8_t {
    own,
    copies,  ///< That of the embedding, too, whose weights it has.
};

/// The rules of all rows whose parameters the network has.
std::vector<TensorRule> rules_of(const Family& family, const LanguageModel& model,
                                 const Network& network, std::string_view prefix, Heads heads) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < network.weights().size(); ++i)
        names.push_back(network.weight_name(i));
    std::ranges::sort(names);
    std::vector<TensorRule> rules;
    for (const TensorRow& row : family.tensors) {
        const std::int64_t count = in_blocks(row.place) ? model.blocks : 1;
        for (std::int64_t block = 0; block < count; ++block) {
            std::vector<std::string> ours = our_names(family, model, row, block);
            if (!std::ranges::binary_search(names, ours.front())) continue;
            const bool copied = row.place == Place::head && heads == Heads::copies;
            rules.push_back(
                {copied ? embedding_name(family, prefix) : their_name(row, prefix, block),
                 std::move(ours), row.form});
        }
    }
    return rules;
}

ModelPlan plan_with(const Family& family, const LanguageModel& model, std::string_view prefix,
                    Heads heads = Heads::own) {
    ModelPlan plan;
    plan.blueprint = blueprint_of(family, model);
    plan.rules = rules_of(family, model, Network(plan.blueprint), prefix, heads);
    for (const std::string_view buffer : family.buffers)
        plan.buffers.emplace_back(prefix.empty() && buffer.starts_with(family.prefix)
                                      ? buffer.substr(family.prefix.size())
                                      : buffer);
    if (!model.tied) return plan;
    const std::string table = embedding_name(family, prefix);
    for (const TensorRow& row : family.tensors)
        if (row.place == Place::head) plan.copies.emplace_back(their_name(row, prefix, 0), table);
    plan.notes.push_back(fmt::format(
        "tied: \"{}\" is the embedding and the head, and one tensor of the network", table));
    return plan;
}

/// The enabled layers of a network in order, its head last.
std::vector<AnyLayer> chain_of(const Blueprint& blueprint) {
    std::vector<AnyLayer> chain;
    for (const std::optional<Slot>& slot : blueprint.slots)
        if (slot && slot->enabled) chain.push_back(slot->layer);
    chain.push_back(blueprint.head);
    return chain;
}

[[noreturn]] void refuse_network(const Family& family, const std::string& why) {
    throw ConfigError(fmt::format(
        "the network cannot be written as {} ({}) choose another --family, or --family torch",
        family.name, why));
}

/// Throws unless slots are filled without a gap, and nothing but a chain joins them.
void require_chain(const Family& family, const Blueprint& blueprint) {
    if (blueprint.mode != NetworkMode::chain) refuse_network(family, "it is a mesh");
    if (!blueprint.links.empty()) refuse_network(family, "it has links");
    bool ended = false;
    for (std::size_t i = 0; i < blueprint.slots.size(); ++i) {
        const auto& slot = blueprint.slots[i];
        if (slot && (ended || !slot->enabled))
            refuse_network(family, fmt::format("slot {} is {}", i,
                                               slot->enabled ? "after a gap" : "disabled"));
        ended = ended || !slot;
    }
}

}  // namespace

std::span<const Family> families() {
    static const std::vector<Family> all{llama_family(),       mistral_family(), qwen2_family(),
                                         qwen3_family(),       gpt2_family(),    mamba_family(),
                                         state_spaces_family()};
    return all;
}

std::vector<std::string_view> family_names() {
    std::vector<std::string_view> names;
    for (const Family& family : families())
        if (std::ranges::find(names, family.name) == names.end()) names.push_back(family.name);
    return names;
}

const Family* family_of_type(std::string_view model_type) {
    for (const Family& family : families())
        if (std::ranges::find(family.model_types, model_type) != family.model_types.end())
            return &family;
    return nullptr;
}

const Family* family_of_config(const nlohmann::json& config) {
    for (const Family& family : families())
        if (family.recognise != nullptr && family.recognise(config)) return &family;
    return nullptr;
}

Blueprint blueprint_of(const Family& family, const LanguageModel& model) {
    if (model.blocks < 1 || model.blocks > largest_grid / 4)
        throw ShapeError(fmt::format(
            "a model of {} blocks cannot be built (1 to {} are possible) mend its config",
            model.blocks, largest_grid / 4));
    std::vector<AnyLayer> layers = family.layers(model);
    Blueprint blueprint;
    blueprint.input_features = 1;  // An id.
    blueprint.output_features = model.vocabulary;
    blueprint.grid = one_cell(layers.size() - 1);
    blueprint.head = std::move(layers.back());
    if (model.tied) std::get<Dense>(blueprint.head.variant()).tied = "slot.0.table";
    layers.pop_back();
    blueprint.slots.resize(static_cast<std::size_t>(blueprint.grid.slots()));
    for (std::size_t i = 0; i < layers.size(); ++i)
        blueprint.slots[i] = Slot{.layer = std::move(layers[i])};
    return Network(std::move(blueprint)).blueprint();
}

ModelPlan plan_of(const Family& family, const LanguageModel& model, const TensorFiles& files) {
    const auto has = [&](const TensorRow& row, std::string_view prefix) {
        return files.entries().contains(their_name(row, prefix, 0));
    };
    Family named = family;
    bool prefixed = false;
    for (TensorRow& row : named.tensors) {
        if (!row.other.empty()) {
            TensorRow other = row;
            other.theirs = row.other;
            if (!has(row, family.prefix) && !has(row, "") &&
                (has(other, family.prefix) || has(other, "")))
                row = other;
        }
        if (row.place == Place::embedding) prefixed = prefixed || has(row, family.prefix);
    }
    return plan_with(named, model, prefixed ? family.prefix : std::string_view());
}

DescribedModel describe(const Family& family, const Network& network,
                        std::span<const float> weights) {
    require_chain(family, network.blueprint());
    const std::vector<AnyLayer> chain = chain_of(network.blueprint());
    std::optional<LanguageModel> model = family.describe(chain);
    if (!model) refuse_network(family, "its first layers are others");
    const auto* head = std::get_if<Dense>(&network.blueprint().head.variant());
    model->tied = head != nullptr && !head->tied.empty();
    // What a reader of its config gets: a setting without a key is lost.
    std::vector<std::string> ignored;
    const LanguageModel told = read_model_config(
        family, nlohmann::json(model_config(family, *model)), "config.json", ignored);
    const std::vector<AnyLayer> theirs = chain_of(blueprint_of(family, told));
    for (std::size_t i = 0; i < chain.size(); ++i)
        if (i >= theirs.size() || chain[i] != theirs[i])
            refuse_network(
                family,
                fmt::format(
                    "layer {} is {}, theirs {}", i, shortened(to_json(chain[i]).dump(), 300),
                    i < theirs.size() ? shortened(to_json(theirs[i]).dump(), 300) : "is none"));
    if (model->tied) return {*model, plan_with(family, *model, family.prefix)};
    DescribedModel result{*model, plan_with(family, *model, family.prefix, Heads::copies)};
    const NamedRanges ranges(network);
    const auto equal = [&](const PlannedTensor& tensor) {
        if (tensor.rules.size() < 2) return true;
        const auto part = [&](const TensorRule* rule) {
            const WeightRange& range = ranges.at(rule->ours.front());
            return weights.subspan(static_cast<std::size_t>(range.offset),
                                   static_cast<std::size_t>(range.count));
        };
        return std::ranges::equal(part(tensor.rules[0]), part(tensor.rules[1]));
    };
    result.model.tied = std::ranges::all_of(planned_tensors(result.plan, ranges), equal);
    if (!result.model.tied) result.plan = plan_with(family, *model, family.prefix);
    return result;
}

}  // namespace cambrian::models
