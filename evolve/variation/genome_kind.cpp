#include "cambrian/evolve/variation/genome_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::evolve {

GenomeType hyperneat_genome();
GenomeType neat_genome();
GenomeType volumetric_genome();

Genome GenomeKind::begin(const Blueprint& network) const {
    return adopt(founder_genome(Network(network).blueprint(), 0));
}

Individual GenomeKind::develop(const Individual&) const {
    CAMBRIAN_EXPECT(develops());
    return {};
}

std::vector<float> GenomeKind::aligned(const Individual&, const Individual& second) const {
    return second.weights;
}

std::uint32_t complexity(const Genome& genome) {
    std::size_t genes = 0;
    for (const NeuronGenes& layer : genome.neuron_genes) {
        genes += layer.neurons.size() + layer.connections.size();
    }
    if (genome.neuron_genes.empty()) {
        const auto& slots = genome.blueprint.slots;
        genes = static_cast<std::size_t>(std::ranges::count_if(
                    slots, [](const auto& slot) { return slot.has_value(); })) +
                genome.blueprint.links.size();
    }
    return static_cast<std::uint32_t>(genes);
}

void GenomeKind::simplify(RandomStream&, ChildPlan&, std::uint64_t) const {
    CAMBRIAN_ASSERT(false && "a kind of genome that simplifies");
}

void GenomeRegistry::add(GenomeType type) {
    CAMBRIAN_ASSERT(type.make != nullptr);
    std::string name = type.name;
    const auto [position, added] = types_.try_emplace(std::move(name), std::move(type));
    if (!added) {
        throw ConfigError(fmt::format(
            "genome type \"{}\" is registered twice (the name is taken) choose another name",
            position->first));
    }
}

std::shared_ptr<const GenomeKind> GenomeRegistry::make(const nlohmann::json& settings,
                                                       const GenomeContext& context) const {
    const std::string type = settings.value("type", std::string());
    const auto found = types_.find(type);
    if (found == types_.end()) {
        throw ConfigError(fmt::format("genome.type is \"{}\" (known: {}) {}", type, joined(names()),
                                      nearest_hint(type, names())));
    }
    return found->second.make(settings, context);
}

std::vector<std::string> GenomeRegistry::names() const {
    std::vector<std::string> result;
    for (const auto& entry : types_) {
        result.push_back(entry.first);
    }
    return result;
}

nlohmann::ordered_json GenomeRegistry::schema() const {
    auto result = nlohmann::ordered_json::object();
    for (const auto& [name, type] : types_) {
        nlohmann::ordered_json& node = result[name];
        node["description"] = type.meaning;
        node["properties"] = nlohmann::ordered_json::object();
        if (type.describe != nullptr) {
            type.describe(node);
        }
    }
    return result;
}

void GenomeRegistry::add_mutation(CustomMutation mutation) {
    CAMBRIAN_ASSERT(mutation.apply != nullptr);
    const std::string& key = mutation.key;
    if (!is_plain_name(key) || !key.ends_with("_rate")) {
        throw ConfigError(fmt::format(
            "\"{}\" cannot be the key of a mutation (it is of small letters, digits and "
            "_, and ends with _rate) rename it",
            shortened(key)));
    }
    bool taken = key == "layer_insert_rate" ||
                 std::ranges::find(mutations_, key, &CustomMutation::key) != mutations_.end();
    field_json::for_each_field<MutationSettings>(
        [&](const auto& field) { taken = taken || field.name == key; });
    if (taken) {
        throw ConfigError(fmt::format(
            "mutation \"{}\" is registered twice (the key is taken) choose another key", key));
    }
    mutations_.push_back(std::move(mutation));
}

nlohmann::ordered_json GenomeRegistry::mutation_schema() const {
    auto properties = nlohmann::ordered_json::object();
    for (const CustomMutation& mutation : mutations_) {
        nlohmann::ordered_json& node = properties[mutation.key];
        field_json::describe(node, mutation.rate, from_zero_to_one);
        node["default"] = mutation.rate;
        node["x-class"] = "identity";
        node["description"] = mutation.meaning;
    }
    return properties;
}

void GenomeRegistry::add_plugin(PluginIdentity plugin) {
    if (std::ranges::find(plugins_, plugin.name, &PluginIdentity::name) != plugins_.end()) {
        throw ConfigError(fmt::format(
            "plug-in \"{}\" is loaded twice (a plug-in of that name is there) name it once",
            plugin.name));
    }
    plugins_.push_back(std::move(plugin));
}

GenomeRegistry standard_genomes() {
    GenomeRegistry registry;
    registry.add(volumetric_genome());
    registry.add(neat_genome());
    registry.add(hyperneat_genome());
    return registry;
}

}  // namespace cambrian::evolve
