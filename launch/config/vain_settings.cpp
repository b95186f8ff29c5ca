#include "cambrian/launch/config/vain_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>

#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/network/blueprint.hpp"

namespace cambrian::launch {
namespace {

/// Keys that are read under a condition alone.
struct Dependence {
    std::string_view section;
    std::string_view only;  ///< The key that depends; empty: all of the section
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

std::string unless_splice_mode(const Json& config, std::string_view wanted) {
    const std::string mode = text_at(config, "splice", "mode");
    return unless(mode == wanted, config, fmt::format("splice.mode is \"{}\"", mode));
}

std::string unless_power_changes(const Json& config) {
    return unless(text_at(config, "mutation", "weight_power_schedule") != "constant", config,
                  "mutation.weight_power_schedule is \"constant\"");
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
    Dependence{"splice", "alpha", "", [](const Json& c) { return unless_splice_mode(c, "blend"); }},
    Dependence{"splice", "split", "", [](const Json& c) { return unless_splice_mode(c, "point"); }},
    Dependence{"species", "threshold_change", "",
               [](const Json& c) -> std::string {
                   const bool read = c.at("species").at("target") > 0 || !has_species(c);
                   return read ? "" : "species.target is 0";
               }},
    Dependence{"species", "interspecies_rate", "",
               [](const Json& c) {
                   return unless(c.at("splice").at("rate") > 0.0 || !has_species(c), c,
                                 "splice.rate is 0");
               }},
    Dependence{"islands", "migrants", "",
               [](const Json& c) -> std::string {
                   const Json& islands = c.at("islands");
                   const bool read = islands.at("every") > 0 || islands.at("count") == 1;
                   return read ? "" : "islands.every is 0";
               }},
    Dependence{"mutation", "weight_power_end", "", unless_power_changes},
    Dependence{"mutation", "weight_power_births", "", unless_power_changes},
    Dependence{"genome", "delay_rate", "", unless_cycles},
    Dependence{"genome", "largest_delay", "", unless_cycles},
    Dependence{"species", "", "", [](const Json& c) { return unless_strategy(c, "species"); }},
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

bool has_layer(const Blueprint& network, bool Neurons::*wanted) {
    const auto is_wanted = [&](const AnyLayer& layer) {
        const auto* neurons = std::get_if<Neurons>(&layer.variant());
        return neurons != nullptr && neurons->*wanted;
    };
    return is_wanted(network.head) || std::ranges::any_of(network.slots, [&](const auto& slot) {
               return slot && is_wanted(slot->layer);
           });
}

/// Keys of an object that are set to something else than by default, those of objects in it, too.
/// @param whole the default of the object, whose keys come before defaults of their own; or null.
void find_changed(const Schema& schema, const Json& node, const Json* whole, const Json& values,
                  const std::string& path, const Dependence& dependence,
                  std::vector<std::string>& changed) {
    for (const auto& [key, own] : schema.keys(node, values).properties) {
        if (!values.contains(key) || key == dependence.but) continue;
        if (!dependence.only.empty() && key != dependence.only) continue;
        const std::string name = fmt::format("{}.{}", path, key);
        const Json& value = values.at(key);
        const bool given = whole != nullptr && whole->contains(key);
        const Json* usual = given ? &whole->at(key) : schema.default_of(*own);
        if (value.is_object()) {
            Dependence inner = dependence;
            inner.only = {};  // All of what is chosen.
            find_changed(schema, *own, usual, value, name, inner, changed);
        } else if (usual != nullptr ? value != *usual : !value.empty()) {
            changed.push_back(name);
        }
    }
}

}  // namespace

std::vector<std::string> vain_settings(const ResolvedConfig& config, const Schema& schema,
                                       const Blueprint& founder) {
    const Json& json = *config.effective;
    std::vector<std::string> notes;
    const auto note = [&](const Dependence& dependence, std::string_view why) {
        const std::string section(dependence.section);
        std::vector<std::string> changed;
        find_changed(schema, schema.root().at("properties").at(section), nullptr, json.at(section),
                     section, dependence, changed);
        if (!changed.empty())
            notes.push_back(fmt::format("{} {} nothing: {}", joined(changed),
                                        changed.size() == 1 ? "does" : "do", why));
    };
    for (const Dependence& dependence : dependences) {
        if (!json.contains(dependence.section)) continue;
        const std::string why = dependence.unread(json);
        if (!why.empty()) note(dependence, why);
    }
    if (!json.contains("genome") || text_at(json, "genome", "type") != "neat") return notes;
    for (const LayerDependence& each : layer_dependences) {
        // A rate of 0 asks for nothing.
        const bool asks = json.at("genome").value(each.key, Json()) != Json(0.0);
        if (asks && !has_layer(founder, each.read))
            note({"genome", each.key, "", nullptr}, each.why);
    }
    return notes;
}

}  // namespace cambrian::launch
