#include "cambrian/evolve/runs/network_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/network/network_text.hpp"

namespace cambrian::distributed {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view network_key = "network";
constexpr std::string_view genes_key = "genes";
constexpr std::string_view neuron_genes_key = "neuron_genes";
constexpr std::string_view origin_key = "origin";
constexpr std::string_view preparation_key = "preparation";
constexpr std::size_t longest_reason = 1000;

ordered_json gene_json(const evolve::Gene& gene) {
    return {{"id", gene.id.hex()}, {"born", gene.born}};
}

/// Genes in the order of weights: filled slots, head, links.
std::vector<evolve::Gene*> genes_of(evolve::Genome& genome) {
    std::vector<evolve::Gene*> genes;
    for (std::size_t slot = 0; slot < genome.slot_genes.size(); ++slot)
        if (genome.blueprint.slots[slot]) genes.push_back(&genome.slot_genes[slot]);
    genes.push_back(&genome.head_gene);
    for (evolve::Gene& gene : genome.link_genes) genes.push_back(&gene);
    return genes;
}

/// A number that counts something.
std::uint64_t count(const nlohmann::json& json, const char* key) {
    const nlohmann::json& value = json.at(key);
    if (!value.is_number_unsigned())
        throw InputError(
            fmt::format("{} is {}, which counts nothing", key, json_text::shown(value)));
    return value.get<std::uint64_t>();
}

evolve::Gene read_gene(const nlohmann::json& json) {
    return {.id = hash_from_hex(json.at("id").get<std::string>()), .born = count(json, "born")};
}

void read_genes(evolve::Genome& genome, const nlohmann::json& json) {
    const std::vector<evolve::Gene*> genes = genes_of(genome);
    if (!json.is_array() || json.size() != genes.size())
        throw InputError(fmt::format("the network has {} genes", genes.size()));
    for (std::size_t i = 0; i < genes.size(); ++i) *genes[i] = read_gene(json[i]);
    evolve::check(genome);
}

/// Genes inside layers of neurons.
ordered_json neuron_genes_json(const evolve::Genome& genome) {
    const auto list = [](const std::vector<evolve::Gene>& genes) {
        auto result = ordered_json::array();
        for (const evolve::Gene& gene : genes) result.push_back(gene_json(gene));
        return result;
    };
    auto layers = ordered_json::array();
    for (const evolve::NeuronGenes& genes : genome.neuron_genes)
        layers.push_back({{"slot", genes.slot},
                          {"neurons", list(genes.neurons)},
                          {"connections", list(genes.connections)}});
    return layers;
}

void read_neuron_genes(evolve::Genome& genome, const nlohmann::json& json) {
    const auto read_list = [](std::vector<evolve::Gene>& genes, const nlohmann::json& list) {
        if (!list.is_array()) throw InputError("genes of neurons are a list");
        for (const nlohmann::json& gene : list) genes.push_back(read_gene(gene));
    };
    if (!json.is_array()) throw InputError("layers of neurons are a list");
    for (const nlohmann::json& layer : json) {
        evolve::NeuronGenes& genes = genome.neuron_genes.emplace_back();
        genes.slot = static_cast<int>(std::min<std::uint64_t>(count(layer, "slot"), largest_grid));
        read_list(genes.neurons, layer.at("neurons"));
        read_list(genes.connections, layer.at("connections"));
    }
    evolve::check(genome);
}

/// JSON has no infinities.
ordered_json number(double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

void read_origin(NetworkFile& file, const nlohmann::json& json) {
    file.identity_json = json.at("identity").get<std::string>();
    if (const std::string fault = identity_fault(file.identity_json); !fault.empty())
        throw InputError(fault);
    file.generation = count(json, "generation");
    file.birth = count(json, "birth");
    if (json.at("genome").get<std::string>() != evolve::content_hash(file.genome).hex()) return;
    if (!json.at("fitness").is_null()) file.fitness = json["fitness"].get<double>();
    if (!json.at("validated").is_null()) file.validated = json["validated"].get<double>();
}

void read_preparation(NetworkFile& file, const nlohmann::json& json) {
    file.preparation = evolve::preparation_from_json(json);
    const std::string fault = evolve::preparation_fault(*file.preparation, file.genome.blueprint);
    if (!fault.empty()) throw InputError(fault);
}

/// Names of columns come from files and may be of any encoding, metadata are UTF-8.
std::string preparation_value(const evolve::Preparation& preparation) {
    try {
        return evolve::to_json(preparation).dump();
    } catch (const nlohmann::json::exception& error) {
        throw InputError(fmt::format(
            "a column of the network has no name in UTF-8 ({}) name the columns of the data in "
            "UTF-8 and evolve or train again, or stay with .cmb",
            error.what()));
    }
}

/// Calls read with a key's value where there is one; all that goes wrong is an InputError.
template <class Read>
void read_key(const Metadata& metadata, std::string_view key, std::string_view source,
              const Read& read) {
    const auto found = metadata.find(key);
    if (found == metadata.end()) return;
    std::string why;
    try {
        read(json_text::parse(found->second, network_text_limits));
        return;
    } catch (const nlohmann::json::exception&) {
        why = "a value is missing, or of another kind than it should be";
    } catch (const ContractViolation& error) {
        why = error.what();
    } catch (const Error& error) {
        why = error.what();
    }
    throw InputError(fmt::format(
        "{}: its metadata \"{}\" cannot be read ({}) convert the network again, or name its "
        "structure with --network",
        source, key, shortened(why, longest_reason)));
}

}  // namespace

Metadata metadata_of(const NetworkFile& file) {
    auto genes = ordered_json::array();
    evolve::Genome genome = file.genome;
    for (const evolve::Gene* gene : genes_of(genome)) genes.push_back(gene_json(*gene));
    const ordered_json origin{
        {"genome", evolve::content_hash(file.genome).hex()},
        {"generation", file.generation},
        {"birth", file.birth},
        {"fitness", number(file.fitness)},
        {"validated", file.validated ? number(*file.validated) : ordered_json(nullptr)},
        {"identity", file.identity_json}};
    Metadata metadata{{std::string(network_key), network_section(file.genome.blueprint).dump()},
                      {std::string(genes_key), genes.dump()},
                      {std::string(origin_key), origin.dump()}};
    if (!genome.neuron_genes.empty())
        metadata.emplace(neuron_genes_key, neuron_genes_json(genome).dump());
    if (file.preparation) metadata.emplace(preparation_key, preparation_value(*file.preparation));
    return metadata;
}

Blueprint blueprint_of(const Metadata& metadata, std::string_view source) {
    if (!metadata.contains(network_key))
        throw InputError(fmt::format(
            "{} does not say what network it holds (its metadata has no \"network\") name a config "
            "with --network",
            source));
    Blueprint blueprint;
    read_key(metadata, network_key, source,
             [&](const nlohmann::json& json) { blueprint = blueprint_from_json(json); });
    return blueprint;
}

void restore(NetworkFile& file, const Metadata& metadata, std::string_view source) {
    read_key(metadata, genes_key, source,
             [&](const nlohmann::json& json) { read_genes(file.genome, json); });
    read_key(metadata, neuron_genes_key, source,
             [&](const nlohmann::json& json) { read_neuron_genes(file.genome, json); });
    read_key(metadata, origin_key, source,
             [&](const nlohmann::json& json) { read_origin(file, json); });
    read_key(metadata, preparation_key, source,
             [&](const nlohmann::json& json) { read_preparation(file, json); });
    tell_shown(file);
}

}  // namespace cambrian::distributed
