#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/evolve/variation/neat/neat_kind.hpp"

namespace cambrian::evolve {

namespace {

void check_values(const ValueSettings& values, std::string_view key, float least) {
    if (values.perturb_rate + values.replace_rate > 1.0F) {
        throw ConfigError(fmt::format(
            "genome.{0}.perturb_rate is {1} and genome.{0}.replace_rate {2} (a value does one or "
            "the other, so that they add up to 1 at most) lower one of them",
            key, values.perturb_rate, values.replace_rate));
    }
    if (values.least > values.largest || values.mean < values.least ||
        values.mean > values.largest || values.least < least) {
        throw ConfigError(fmt::format(
            "genome.{0}.least is {1}, its mean {2} and its largest {3} (they are in that order{4}) "
            "change one of them",
            key, values.least, values.mean, values.largest,
            static_cast<double>(least) > ValueSettings::any.min ? fmt::format(", {} or more", least)
                                                                : ""));
    }
}

/// Another section of a config, of which a kind of genome reads some keys or none.
struct OtherSection {
    std::string_view genome;  ///< Its type.
    std::string_view name;
    std::span<const std::string_view> spared;
    std::string_view hint;
};

nlohmann::ordered_json keys_of(const SpliceSettings& settings) {
    nlohmann::ordered_json keys;
    field_json::write_fields(keys, settings);
    return keys;
}

/// Those that no row of the settings is where they ask for something.
nlohmann::ordered_json keys_of(const MutationSettings& settings) {
    nlohmann::ordered_json keys;
    field_json::write_fields(keys, settings);
    // In a mesh it is 0 where nobody asks for it.
    if (settings.layer_insert_rate != 0.0F &&
        settings.layer_insert_rate != MutationSettings().layer_insert_rate) {
        field_json::write(keys["layer_insert_rate"], settings.layer_insert_rate);
    }
    for (const AnyLayer& layer : settings.layers) {
        keys["layers"].push_back(to_json(layer));
    }
    return keys;
}

/// Refuses mutations of programs and plug-ins. One may have a rate that no config gave it, so that
/// leaving it out is no remedy.
void refuse_custom(const MutationSettings& settings, std::string_view genome) {
    for (const CustomMutation& added : settings.custom) {
        if (added.rate != 0.0F) {
            throw ConfigError(fmt::format(
                "mutation.{} is {} (genome.type is \"{}\", which does not read it) set it to 0",
                added.key, added.rate, genome));
        }
    }
}

/// Refuses keys of a section that another kind of genome reads.
template <class Settings>
void refuse_others(const Settings& settings, const OtherSection& section) {
    const nlohmann::ordered_json given = keys_of(settings);
    const nlohmann::ordered_json usual = keys_of(Settings());
    for (const auto& [key, value] : given.items()) {
        const bool read = std::ranges::find(section.spared, key) != section.spared.end();
        if (!read && value != usual.value(key, nlohmann::ordered_json())) {
            throw ConfigError(fmt::format(
                "{}.{} is {} (genome.type is \"{}\", which does not read it) leave it out{}",
                section.name, key, shortened(value.dump()), section.genome, section.hint));
        }
    }
}

}  // namespace

void check(const NeatSettings& settings, const GenomeContext& context, std::string_view type) {
    constexpr float shortest = 1e-3F;
    check_values(settings.weight, "weight", static_cast<float>(ValueSettings::any.min));
    check_values(settings.bias, "bias", static_cast<float>(ValueSettings::any.min));
    check_values(settings.time_constant, "time_constant", shortest);
    check_values(settings.learning_rate, "learning_rate",
                 static_cast<float>(ValueSettings::any.min));
    check_values(settings.rule, "rule", static_cast<float>(ValueSettings::any.min));
    for (const auto& [empty, key] : std::array<std::pair<bool, const char*>, 2>{
             {{settings.activations.empty(), "activations"},
              {settings.aggregations.empty(), "aggregations"}}}) {
        if (empty) {
            throw ConfigError(fmt::format(
                "genome.{} is empty (new neurons choose from it) name one at least", key));
        }
    }
    if (!settings.feed_forward && !context.limits.time) {
        throw ConfigError(
            "genome.feed_forward is false (the task has no time: nothing comes before or after) "
            "set it to true, or give the task time");
    }
    static constexpr std::array<std::string_view, 2> formats{"dtype_rate", "dtypes"};
    static constexpr std::array<std::string_view, 1> rate{"rate"};
    refuse_custom(context.mutation, type);
    // Networks that a CPPN draws are in float32.
    refuse_others(context.mutation,
                  {type, "mutation", std::span(formats).first(type == "neat" ? formats.size() : 0),
                   ", and see 'cambrian explain genome'"});
    refuse_others(context.splice,
                  {type, "splice", rate,
                   "; of two parents tell genome.average_rate and genome.disabled_rate"});
}

/// `{"type": "neat"}`: neurons and connections are genes, see NeatSettings.
GenomeType neat_genome() {
    const auto make = [](const nlohmann::json& json, const GenomeContext& context) {
        static constexpr std::array<std::string_view, 1> others{"type"};
        NeatSettings settings;
        field_json::read_fields(settings, json, "genome", others);
        check(settings, context, "neat");
        return make_neat(std::move(settings), context);
    };
    const auto describe = [](nlohmann::ordered_json& schema) {
        field_json::describe_fields<NeatSettings>(schema["properties"]);
    };
    return {"neat",
            "Single neurons and connections, in each layer \"neurons\" of the network (Stanley and "
            "Miikkulainen 2002); of the sections splice and mutation it reads splice.rate, "
            "mutation.dtype_rate and mutation.dtypes alone.",
            make, describe};
}

}  // namespace cambrian::evolve
