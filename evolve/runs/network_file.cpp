#include "cambrian/evolve/runs/network_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/engine/weights/dtype.hpp"
#include "cambrian/evolve/tasks/task_changes.hpp"

namespace cambrian::distributed {

namespace {

constexpr const char* structure_section = "structure";

/// The length of a genome is its network's.
constexpr std::array<WantedSection, 3> sections{
    {{"about", longest_about}, {"genome"}, {preparation_section, evolve::longest_preparation}}};

/// {"network": .., "weights": [{"name": "slot.0.weight", "shape": [3, 2]}, ..]}: tensors in the
/// order of the weights, each with its number format where that is not float32.
std::string structure_text(const Blueprint& blueprint) {
    using nlohmann::ordered_json;
    const Network network(blueprint);
    ordered_json tensors = ordered_json::array();
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const WeightRange& range = network.weights()[i];
        CAMBRIAN_ASSERT(range.offset == offset);
        offset += range.count;
        const auto extents = range.parameter.shape.extents();
        tensors.push_back({{"name", network.weight_name(i)},
                           {"shape", std::vector<std::int64_t>(extents.begin(), extents.end())}});
        if (const auto encoded = encoded_range(network.blueprint(), range)) {
            tensors.back()["dtype"] = name(encoded->dtype);
            if (encoded->scales != Scales::format)
                tensors.back()["dtype_scales"] = name(encoded->scales);
        }
    }
    return ordered_json{{"network", network_section(blueprint)}, {"weights", std::move(tensors)}}
        .dump();
}

}  // namespace

std::optional<evolve::Preparation> preparation_in(const Container& container,
                                                  const std::string& source) {
    const bool present = std::ranges::any_of(container.sections, [](const Section& section) {
        return section.name == preparation_section;
    });
    if (!present) {
        return std::nullopt;
    }
    return evolve::decode_preparation(container.section(preparation_section), source);
}

std::string identity_fault(const std::string& identity_json) {
    using nlohmann::json;
    if (identity_json.empty()) {
        return {};
    }
    if (const auto fault = json_text::fault(identity_json, network_text_limits)) {
        return "its identity is no config: " + fault->why;
    }
    const json identity = json::parse(identity_json);
    if (!identity.is_object()) {
        return "its identity is no config";
    }
    const auto is_text = [](const json& section, const char* key) {
        return section.is_object() && section.contains(key) && section[key].is_string();
    };
    if (!identity.contains("task") || !is_text(identity["task"], "type")) {
        return "its identity names no task";
    }
    const bool seeded =
        identity.contains("run") && identity["run"].is_object() && identity["run"].contains("seed");
    return seeded ? "" : "its identity has no seed";
}

nlohmann::ordered_json identity_of(const NetworkFile& file) {
    return file.identity_json.empty()
               ? nlohmann::ordered_json()
               : json_text::parse_ordered(file.identity_json, network_text_limits);
}

void tell_shown(NetworkFile& file) {
    std::optional<evolve::Preparation>& preparation = file.preparation;
    if (!preparation || preparation->shown || preparation->sequence_rows < 2 ||
        file.identity_json.empty()) {
        return;
    }
    const auto task = evolve::task_of_generation(identity_of(file).at("task"), file.generation);
    const auto is = [&](const char* key, const auto& value) {
        return task.contains(key) && task.at(key) == value;
    };
    if (!is("type", "dataset") || !is("steps", preparation->sequence_rows)) {
        return;
    }
    preparation->shown = true;
    preparation->ahead = 0;  // Of its own row.
}

bool is_genotype(const NetworkFile& file) {
    if (file.identity_json.empty() || file.genome.neuron_genes.empty()) {
        return false;
    }
    const auto identity = nlohmann::json::parse(file.identity_json, nullptr, false);
    const auto genome = identity.find("genome");
    return genome != identity.end() && genome->is_object() &&
           genome->value("type", nlohmann::json()) == "hyperneat";
}

void require_network(const NetworkFile& file, std::string_view source) {
    if (is_genotype(file)) {
        throw InputError(fmt::format(
            "{} is a genotype (its run has genome.type \"hyperneat\": a network develops from it) "
            "give that network: the best.cmb of the run, or what 'cambrian extract' writes",
            source));
    }
}

std::vector<std::byte> encode(const NetworkFile& file) {
    ArchiveWriter about;
    about.write(network_format);
    about.write(file.identity_json);
    about.write(file.generation);
    about.write(file.birth);
    about.write(file.fitness);
    about.write(file.validated.has_value());
    about.write(file.validated.value_or(0.0));
    Container container{"network", {}};
    container.add("about", about.take());
    container.add("genome", evolve::encode(file.genome));
    const std::string structure = structure_text(file.genome.blueprint);
    const auto bytes = std::as_bytes(std::span(structure));
    container.add(structure_section, {bytes.begin(), bytes.end()});
    if (file.preparation) {
        container.add(preparation_section, evolve::encode(*file.preparation));
    }
    return cambrian::encode(container);
}

void replace_genome(NetworkFile& file, evolve::Genome genome) {
    if (content_hash(genome) != content_hash(file.genome)) {
        file.fitness = evolve::worst_fitness;
        file.validated.reset();
    }
    file.genome = std::move(genome);
}

void write_network(const std::filesystem::path& path, const NetworkFile& file) {
    write_file_atomically(path, encode(file));
}

void write_networks(const std::filesystem::path& path, const std::filesystem::path& genotype_path,
                    const NetworkFile& file, const evolve::Variation& variation) {
    if (!variation.develops()) {
        write_network(path, file);
        return;
    }
    NetworkFile genotype = file;
    genotype.preparation.reset();  // No rows are its inputs.
    write_network(genotype_path, genotype);
    NetworkFile network = file;
    network.genome = genome_of(variation.develop(evolve::Individual(file.genome)));
    write_network(path, network);
}

NetworkFile decode_network(std::span<const std::byte> bytes, const std::string& source) {
    const Container container = decode_container(bytes, source, sections);
    if (container.kind != "network") {
        throw InputError(source + " holds no network (it is a " + container.kind +
                         " file) give the best.cmb of a run");
    }
    NetworkFile file;
    ArchiveReader about(container.section("about"), source);
    static_cast<void>(about.read_format("network", oldest_network_format, network_format));
    about.read(file.identity_json);
    about.read(file.generation);
    about.read(file.birth);
    about.read(file.fitness);
    bool validated = false;
    double value = 0.0;
    about.read(validated);
    about.read(value);
    about.finish();
    if (const std::string fault = identity_fault(file.identity_json); !fault.empty()) {
        about.fail(fault);
    }
    if (validated) {
        file.validated = value;
    }
    file.genome = evolve::decode_genome(container.section("genome"), source);
    file.preparation = preparation_in(container, source);
    if (file.preparation) {
        const std::string fault =
            evolve::preparation_fault(*file.preparation, file.genome.blueprint);
        if (!fault.empty()) {
            about.fail(fault);
        }
    }
    tell_shown(file);
    return file;
}

NetworkFile read_network(const std::filesystem::path& path) {
    if (path.extension() == ".safetensors")
        throw InputError(fmt::format(
            "{} is a safetensors file (a .cmb is read here) convert it: cambrian convert {} {}",
            path.string(), path.string(),
            std::filesystem::path(path).replace_extension(".cmb").string()));
    return decode_network(read_file(path), path.string());
}

std::filesystem::path initial_copy(const std::filesystem::path& run_directory, std::size_t index) {
    return index == 0 ? run_directory / "initial.cmb"
                      : run_directory / "initial" / fmt::format("{}.cmb", index + 1);
}

void write_initial(const std::filesystem::path& run_directory,
                   const std::vector<evolve::Genome>& genomes) {
    for (std::size_t i = 0; i < genomes.size(); ++i) {
        const std::filesystem::path path = initial_copy(run_directory, i);
        std::filesystem::create_directories(path.parent_path());
        NetworkFile file;
        file.genome = genomes[i];
        write_network(path, file);
    }
    // A resume reads as many as there are: none of a start that came to no checkpoint.
    for (std::size_t i = genomes.size(); std::filesystem::remove(initial_copy(run_directory, i));) {
        ++i;
    }
}

}  // namespace cambrian::distributed
