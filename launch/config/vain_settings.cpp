#include "cambrian/launch/config/vain_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string_view>
#include <utility>
#include <variant>

#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/evolve/variation/new_layer.hpp"
#include "cambrian/launch/config/schema_validator.hpp"

namespace cambrian::launch {
namespace {

/// Keys that are read under a condition alone.
struct Dependence {
    std::string_view section;
    std::string_view only;  ///< The key that depends, "a.b" in an object; empty: all of the section
    std::string_view but;   ///< but this one.
    /// Empty where they are read, else why they are not.
    std::string (*unread)(const Json& config);
};

std::string text_at(const Json& config, const char* section, const char* key) {
    return config.at(section).at(key).get<std::string>();
}

/// A strategy that a program adds may read what it likes.
bool is_added_strategy(const std::string& type) {
    static constexpr std::array<std::string_view, 3> own{"elite", "species", "age_layers"};
    return std::ranges::find(own, type) == own.end();
}

std::string unless_strategy(const Json& config, std::string_view wanted) {
    const std::string type = text_at(config, "strategy", "type");
    const bool read = type == wanted || is_added_strategy(type);
    return read ? "" : fmt::format("strategy.type is \"{}\"", type);
}

/// Settings of islands may be what reads them.
std::string unless(bool read, const Json& config, std::string why) {
    return read || !config.at("islands").at("overrides").empty() ? "" : std::move(why);
}

/// Elsewhere the whole section is told of, or nobody knows what is read.
bool has_species(const Json& config) {
    return text_at(config, "strategy", "type") == "species";
}

/// Whether a child may have two parents.
std::string unless_spliced(const Json& config) {
    const bool read = config.at("splice").at("rate") > 0.0 ||
                      is_added_strategy(text_at(config, "strategy", "type"));
    return unless(read, config, "splice.rate is 0");
}

std::string unless_splice_mode(const Json& config, std::string_view wanted) {
    const std::string mode = text_at(config, "splice", "mode");
    // Elsewhere the whole section is told of.
    const bool read = mode == wanted || !unless_spliced(config).empty();
    return unless(read, config, fmt::format("splice.mode is \"{}\"", mode));
}

std::string unless_power_changes(const Json& config) {
    return unless(text_at(config, "mutation", "weight_power_schedule") != "constant", config,
                  "mutation.weight_power_schedule is \"constant\"");
}

/// Networks that are read from files come with their connections.
std::string unless_initial(const Json& config) {
    const std::string type = text_at(config, "genome", "type");
    const bool read = type != "neat" && type != "hyperneat";
    const Json& initial = config.at("network").at("initial");
    return read || initial.empty() || initial == "" ? "" : "network.initial is set";
}

/// Factors of 1 do not care which species are young or old.
std::string unless_factor(const Json& config, std::string_view age) {
    const Json& species = config.at("species");
    const bool boosts = species.at("young_boost") != 1.0;
    const bool punishes = species.at("old_penalty") != 1.0;
    // A species that is young is never old.
    const bool excuses = punishes && species.at("young_age") > species.at("old_age");
    const bool read = age == "young_age" ? boosts || excuses : punishes;
    if (read || !has_species(config)) return "";
    return age == "young_age" ? "species.young_boost is 1" : "species.old_penalty is 1";
}

std::string unless_migration(const Json& config) {
    const Json& islands = config.at("islands");
    // Of one island the whole section is told of.
    const bool read = islands.at("every") > 0 || islands.at("count") == 1;
    return read ? "" : "islands.every is 0";
}

std::string unless_cycles(const Json& config) {
    return unless(!config.at("genome").value("feed_forward", false), config,
                  "genome.feed_forward is true");
}

constexpr std::array dependences{
    Dependence{"population", "elite_fraction", "",
               [](const Json& c) -> std::string {
                   const bool read = text_at(c, "strategy", "type") != "species";
                   return read ? "" : "strategy.type is \"species\", which has its own settings";
               }},
    Dependence{"splice", "", "rate", unless_spliced},
    Dependence{"splice", "alpha", "", [](const Json& c) { return unless_splice_mode(c, "blend"); }},
    Dependence{"splice", "split", "", [](const Json& c) { return unless_splice_mode(c, "point"); }},
    Dependence{"species", "threshold_change", "",
               [](const Json& c) -> std::string {
                   const bool read = c.at("species").at("target") > 0 || !has_species(c);
                   return read ? "" : "species.target is 0";
               }},
    Dependence{"species", "interspecies_rate", "",
               [](const Json& c) { return has_species(c) ? unless_spliced(c) : ""; }},
    Dependence{"islands", "topology", "", unless_migration},
    Dependence{"islands", "migrants", "", unless_migration},
    Dependence{"islands", "choice", "", unless_migration},
    Dependence{"mutation", "weight_power_end", "", unless_power_changes},
    Dependence{"mutation", "weight_power_births", "", unless_power_changes},
    Dependence{"mutation", "layer_widen_units", "",
               [](const Json& c) {
                   return unless(c.at("mutation").at("layer_widen_rate") > 0.0, c,
                                 "mutation.layer_widen_rate is 0");
               }},
    Dependence{"genome", "initial_connection_rate", "", unless_initial},
    Dependence{"genome", "delay_rate", "", unless_cycles},
    Dependence{"genome", "largest_delay", "", unless_cycles},
    Dependence{"genome", "average_rate", "", unless_spliced},
    Dependence{"genome", "disabled_rate", "", unless_spliced},
    Dependence{"genome", "substrate.weight_threshold", "",
               [](const Json& c) -> std::string {
                   const bool expressed =
                       text_at(c, "genome", "type") == "hyperneat" &&
                       c.at("genome").at("substrate").at("link_expression") == true;
                   return expressed ? "genome.substrate.link_expression is true" : "";
               }},
    Dependence{"species", "young_age", "",
               [](const Json& c) { return unless_factor(c, "young_age"); }},
    Dependence{"species", "old_age", "", [](const Json& c) { return unless_factor(c, "old_age"); }},
    Dependence{"species", "", "distance",
               [](const Json& c) { return unless_strategy(c, "species"); }},
    Dependence{"species", "distance", "",
               [](const Json& c) {
                   const std::string why = unless_strategy(c, "species");
                   return why.empty() ? why : why + " (cambrian compare alone reads it)";
               }},
    Dependence{"age_layers", "", "",
               [](const Json& c) { return unless_strategy(c, "age_layers"); }},
    Dependence{"islands", "", "count",
               [](const Json& c) -> std::string {
                   return c.at("islands").at("count") > 1 ? "" : "islands.count is 1";
               }},
    Dependence{"learning", "", "mode",
               [](const Json& c) -> std::string {
                   return text_at(c, "learning", "mode") == "off" ? "learning.mode is \"off\"" : "";
               }},
    Dependence{"complexity", "", "ceiling",
               [](const Json& c) -> std::string {
                   return c.at("complexity").at("ceiling") > 0 ? "" : "complexity.ceiling is 0";
               }},
    Dependence{"selection", "tournament_size", "",
               [](const Json& c) {
                   const std::string type = text_at(c, "selection", "type");
                   const bool read =
                       type == "tournament" || is_added_strategy(text_at(c, "strategy", "type"));
                   return read ? "" : fmt::format("selection.type is \"{}\"", type);
               }},
};

/// Keys of genome.type "neat" that are read of some layers of neurons alone.
struct LayerDependence {
    std::string_view key;
    bool Neurons::*read;
    std::string_view why;
};
constexpr std::string_view no_plastic = "no layer of the network has \"plastic\": true";
constexpr std::array layer_dependences{
    LayerDependence{"time_constant", &Neurons::continuous,
                    "no layer of the network has \"continuous\": true"},
    LayerDependence{"learning_rate", &Neurons::plastic, no_plastic},
    LayerDependence{"rule", &Neurons::plastic, no_plastic},
    LayerDependence{"plastic_rate", &Neurons::plastic, no_plastic},
    LayerDependence{"plastic_toggle_rate", &Neurons::plastic, no_plastic},
};

/// Layers of single neurons, of all founders.
std::vector<const Neurons*> neuron_layers(const evolve::VariationSettings& variation) {
    std::vector<const Neurons*> layers;
    const auto add = [&](const AnyLayer& layer) {
        if (const auto* neurons = std::get_if<Neurons>(&layer.variant())) layers.push_back(neurons);
    };
    for (const Blueprint* network : evolve::founder_networks(variation)) {
        for (const std::optional<Slot>& slot : network->slots)
            if (slot) add(slot->layer);
        add(network->head);
    }
    return layers;
}

/// Whether a network of founders has time constants, in containers, too.
bool has_time_constants(const evolve::VariationSettings& variation) {
    return std::ranges::any_of(evolve::founder_networks(variation), [](const Blueprint* network) {
        const auto slot_has = [](const std::optional<Slot>& slot) {
            return slot && slot->layer.has_positive();
        };
        return network->head.has_positive() || std::ranges::any_of(network->slots, slot_has);
    });
}

/// Why a neuron never gets another function, or an empty text.
/// @param choices the key of those it may get: "activations".
template <class Function>
std::string unless_choices(const Json& config, const std::vector<const Neurons*>& layers,
                           Function Neurons::Neuron::*function, const char* choices) {
    const Json& given = config.at("genome").at(choices);
    if (given.size() != 1) return {};
    const auto first = given.front().get<std::string>();
    const auto has_another = [&](const Neurons& layer) {
        const auto hidden = layer.neurons | std::views::drop(layer.out);
        return std::ranges::any_of(hidden, [&](const Neurons::Neuron& neuron) {
            const auto place = static_cast<std::size_t>(neuron.*function);
            return choice_names(neuron.*function)[place] != first;
        });
    };
    const bool read =
        std::ranges::any_of(layers, [&](const Neurons* layer) { return has_another(*layer); });
    return unless(read, config, fmt::format("genome.{} has one entry", choices));
}

/// Whether genomes of the run may lose a layer.
bool removes_layers(const evolve::MutationSettings& mutation,
                    const evolve::ComplexitySettings& complexity) {
    return mutation.layer_remove_rate > 0.0F ||
           (complexity.on() && complexity.delete_rate > 0.0F) ||
           // Mutations that a program adds may do what they like.
           std::ranges::any_of(mutation.custom, [](const evolve::CustomMutation& added) {
               return added.rate > 0.0F;
           });
}

/// Whether a network has an empty slot, or may get one more.
bool has_room(const Blueprint& network, std::int64_t grid_limit) {
    return grid_limit > network.grid.slots() ||
           !std::ranges::all_of(network.slots, &std::optional<Slot>::has_value);
}

/// Notes on types that a section gives fields and that no new layer is of.
/// @param readers settings that mutation by these fields has.
void note_unread(const std::vector<AnyLayer>& layers, const std::string& section,
                 const std::vector<const evolve::MutationSettings*>& readers,
                 std::vector<std::string>& notes) {
    std::vector<std::string> types;
    for (const AnyLayer& layer : layers) {
        const bool read = std::ranges::any_of(readers, [&](const auto* settings) {
            return evolve::may_bring(*settings, layer.type());
        });
        if (!read) types.emplace_back(layer.type());
    }
    if (types.empty()) return;
    notes.push_back(
        readers.empty()
            ? fmt::format("{}.layers does nothing: each island has its own", section)
            : fmt::format("{0}.layers for {1} does nothing: {0}.layer_types does not name {2}",
                          section, joined(types), types.size() == 1 ? "it" : "them"));
}

/// The first key of a path, and what follows it.
std::pair<std::string_view, std::string_view> split_key(std::string_view path) {
    const std::size_t dot = path.find('.');
    return {path.substr(0, dot),
            dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1)};
}

/// Keys of an object that are set to something else than by default, those of objects in it, too.
/// @param whole the default of the object, whose keys come before defaults of their own; or null.
void find_changed(const Schema& schema, const Json& node, const Json* whole, const Json& values,
                  const std::string& path, const Dependence& dependence,
                  std::vector<std::string>& changed) {
    for (const auto& [key, own] : schema.keys(node, values).properties) {
        if (!values.contains(key) || key == dependence.but) continue;
        const auto [wanted, within] = split_key(dependence.only);
        if (!wanted.empty() && key != wanted) continue;
        const std::string name = fmt::format("{}.{}", path, key);
        const Json& value = values.at(key);
        const bool given = whole != nullptr && whole->contains(key);
        const Json* usual = given ? &whole->at(key) : schema.default_of(*own);
        if (value.is_object()) {
            Dependence inner = dependence;
            inner.only = within;  // Else all of what is chosen.
            find_changed(schema, *own, usual, value, name, inner, changed);
        } else if (usual != nullptr ? value != *usual : !value.empty()) {
            changed.push_back(name);
        }
    }
}

/// Notes on sections of a config.
/// @param json what is read.
/// @param given the sections that are told of, where a user wrote them: all, or those of an island.
/// @param path of the sections: empty, or of the island with a dot.
void note_vain(const Json& json, const Json& given, const std::string& path, const Schema& schema,
               const evolve::VariationSettings& variation, std::vector<std::string>& notes) {
    const auto note = [&](const Dependence& dependence, std::string_view why) {
        const std::string section(dependence.section);
        std::vector<std::string> changed;
        find_changed(schema, schema.root().at("properties").at(section), nullptr, given.at(section),
                     path + section, dependence, changed);
        if (!changed.empty())
            notes.push_back(fmt::format("{} {} nothing: {}", joined(changed),
                                        changed.size() == 1 ? "does" : "do", why));
    };
    for (const Dependence& dependence : dependences) {
        if (!given.contains(dependence.section)) continue;
        const std::string why = dependence.unread(json);
        if (!why.empty()) note(dependence, why);
    }
    const std::string type = given.contains("genome") ? text_at(json, "genome", "type") : "";
    if (type != "neat" && type != "hyperneat") return;
    const std::vector<const Neurons*> layers = neuron_layers(variation);
    const auto note_key = [&](std::string_view key, std::string_view why) {
        if (!why.empty()) note({"genome", key, "", nullptr}, why);
    };
    for (const LayerDependence& each : layer_dependences) {
        // A rate of 0 asks for nothing.
        const bool asks = given.at("genome").value(each.key, Json()) != Json(0.0);
        // Time constants vary in containers, too.
        const bool read = std::ranges::any_of(layers, each.read) ||
                          (each.read == &Neurons::continuous && has_time_constants(variation));
        if (type == "neat" && asks && !read) note_key(each.key, each.why);
    }
    // Migrants bring functions of other islands.
    if (!path.empty()) return;
    // The bells of a CPPN are hidden neurons of its founders.
    const bool bells =
        type == "hyperneat" && !json.at("genome").at("substrate").at("locality").empty();
    if (!bells)
        note_key("activation_rate",
                 unless_choices(json, layers, &Neurons::Neuron::activation, "activations"));
    note_key("aggregation_rate",
             unless_choices(json, layers, &Neurons::Neuron::aggregation, "aggregations"));
}

/// What an island reads: the sections of all, with its own settings in their place.
Json of_island(Json json, const Json& own) {
    for (const auto& [section, settings] : own.items()) json[section].merge_patch(settings);
    json["islands"]["overrides"] = Json::array();
    return json;
}

}  // namespace

std::vector<std::string> vain_settings(const ResolvedConfig& config, const Schema& schema,
                                       const evolve::VariationSettings& variation) {
    const Json& json = *config.effective;
    std::vector<std::string> notes;
    note_vain(json, json, "", schema, variation, notes);
    if (!json.contains("islands")) return notes;
    const Json& overrides = json.at("islands").at("overrides");
    for (std::size_t i = 0; i < overrides.size(); ++i)
        note_vain(of_island(json, overrides[i]), overrides[i],
                  fmt::format("islands.overrides[{}].", i), schema, variation, notes);
    return notes;
}

std::optional<std::string> vain_insertion(const ResolvedConfig& config,
                                          const distributed::Experiment& experiment) {
    const evolve::VariationSettings& variation = experiment.variation;
    if (experiment.genome != "volumetric") return std::nullopt;
    std::vector<std::string> keys;
    bool room = false;
    const auto look = [&](const evolve::MutationSettings& mutation, const std::string& key) {
        if (mutation.layer_insert_rate > 0.0F && std::ranges::find(keys, key) == keys.end())
            keys.push_back(key);
        room = room || removes_layers(mutation, variation.complexity) ||
               std::ranges::any_of(evolve::founder_networks(variation), [&](const auto* network) {
                   return has_room(*network, mutation.grid_limit);
               });
    };
    const std::string common = "mutation.layer_insert_rate";
    if (variation.islands.empty()) look(variation.mutation, common);
    // Networks migrate, so that room on one island is room on all.
    for (std::size_t i = 0; i < variation.islands.size(); ++i) {
        const Json& own = config.effective->at("islands").at("overrides").at(i);
        const bool given =
            own.contains("mutation") && own["mutation"].contains("layer_insert_rate");
        look(variation.islands[i].mutation,
             given ? fmt::format("islands.overrides[{}].{}", i, common) : common);
    }
    if (room || keys.empty()) return std::nullopt;
    const bool read = variation.initial != nullptr;
    const bool several = read && variation.initial->genomes.size() > 1;
    return fmt::format(
        "{} {} nothing: no slot of the {} is empty{}", joined(keys),
        keys.size() == 1 ? "does" : "do",
        several ? "networks in network.initial"
        : read  ? "network in network.initial"
                : "grid",
        read ? " (mutation.grid_limit lets it grow)"
             : " (a larger network.grid.layers_per_cell makes room, or mutation.grid_limit)");
}

std::vector<std::string> vain_fields(const ResolvedConfig& config,
                                     const distributed::Experiment& experiment) {
    std::vector<std::string> notes;
    if (experiment.genome != "volumetric") return notes;
    const evolve::VariationSettings& variation = experiment.variation;
    // Islands without fields of their own read those of all.
    std::vector<const evolve::MutationSettings*> readers;
    if (variation.islands.empty()) readers.push_back(&variation.mutation);
    for (std::size_t i = 0; i < variation.islands.size(); ++i) {
        const Json& own = config.effective->at("islands").at("overrides").at(i);
        const evolve::MutationSettings& mutation = variation.islands[i].mutation;
        if (own.contains("mutation") && own["mutation"].contains("layers"))
            note_unread(mutation.layers, fmt::format("islands.overrides[{}].mutation", i),
                        {&mutation}, notes);
        else
            readers.push_back(&mutation);
    }
    note_unread(variation.mutation.layers, "mutation", readers, notes);
    return notes;
}

}  // namespace cambrian::launch
