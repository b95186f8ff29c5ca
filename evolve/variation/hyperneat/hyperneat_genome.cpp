#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/evolve/variation/hyperneat/hyperneat_kind.hpp"
#include "cambrian/evolve/variation/neat/neat_kind.hpp"

namespace cambrian::evolve {
namespace {

/// Refuses keys of neurons that remember, which no CPPN has.
void refuse_memory(const NeatSettings& settings) {
    static constexpr std::array<std::string_view, 5> keys{"time_constant", "learning_rate", "rule",
                                                          "plastic_rate", "plastic_toggle_rate"};
    nlohmann::ordered_json given;
    nlohmann::ordered_json usual;
    field_json::write_fields(given, settings);
    field_json::write_fields<NeatSettings>(usual, CppnSettings());
    for (const std::string_view key : keys) {
        if (given.at(key) != usual.at(key)) {
            throw ConfigError(fmt::format(
                "genome.{} is set (genome.type is \"hyperneat\", whose CPPNs have neither time "
                "constants nor plastic connections) leave it out",
                key));
        }
    }
}

}  // namespace

/// `{"type": "hyperneat"}`: the genes of CPPNs, see CppnSettings, and "substrate", see
/// SubstrateSettings.
GenomeType hyperneat_genome() {
    const auto make = [](const nlohmann::json& json, const GenomeContext& context) {
        static constexpr std::array<std::string_view, 2> others{"type", "substrate"};
        NeatSettings cppn = CppnSettings();
        field_json::read_fields(cppn, json, "genome", others);
        if (!cppn.feed_forward) {
            throw ConfigError(
                "genome.feed_forward is false (a CPPN sees two places, and nothing came before) "
                "set it to true; genome.substrate.recurrent makes recurrent networks");
        }
        check(cppn, context, "hyperneat");
        refuse_memory(cppn);
        SubstrateSettings substrate;
        if (const auto given = json.find("substrate"); given != json.end()) {
            field_json::read_fields(substrate, *given, "genome.substrate");
        }
        return make_hyperneat(std::move(cppn), context,
                              Substrate(std::move(substrate), context.observations, context.outputs,
                                        context.limits.time));
    };
    const auto describe = [](nlohmann::ordered_json& schema) {
        field_json::describe_fields<NeatSettings>(schema["properties"], CppnSettings());
        nlohmann::ordered_json& substrate = schema["properties"]["substrate"];
        substrate["type"] = "object";
        substrate["description"] =
            "Where the nodes of networks are, and how the CPPN says what is between them.";
        field_json::describe_fields<SubstrateSettings>(substrate["properties"]);
    };
    return {
        "hyperneat",
        "CPPNs, which change as by neat and draw the neurons and connections of networks "
        "(Stanley and others 2009), or find where neurons stand (ES-HyperNEAT, Risi and Stanley "
        "2012).",
        make, describe};
}

}  // namespace cambrian::evolve
