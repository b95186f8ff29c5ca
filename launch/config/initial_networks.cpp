#include "cambrian/launch/config/initial_networks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/evolve/runs/network_codes.hpp"
#include "cambrian/evolve/runs/network_tensors.hpp"
#include "cambrian/evolve/runs/run_directory.hpp"
#include "cambrian/launch/config/network_reader.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// A structure as cambrian convert writes it, or the network section of any config.
evolve::Genome read_structure(const fs::path& path, const evolve::TaskSignature& task) {
    const ConfigDocument document = read_config(path, {});
    if (!document.json->is_object() || !document.json->contains("network") ||
        !document.json->at("network").is_object())
        throw ConfigError("it has no section network (which would be the structure) name a config");
    const Json& network = document.json->at("network");
    if (network.value("initial", Json("")) != Json(""))
        throw ConfigError("its network.initial is set (it replaces the layers) name that file");
    // Weights are drawn for each individual; these only complete the genome.
    RandomStream unused(random_key(0, "initial"), 0);
    return evolve::sample_genome(described_network(network, task), unused, 0);
}

std::vector<InitialFile> genomes_of(const distributed::Checkpoint& checkpoint,
                                    const std::string& name) {
    std::vector<InitialFile> networks;
    const auto add = [&](evolve::BirthId origin, const evolve::Individual& individual) {
        InitialFile& network = networks.emplace_back();
        network.name = fmt::format("birth {} in {}", origin, name);
        network.file.genome = evolve::genome_of(individual);
        network.file.identity_json = checkpoint.identity_json;
        network.file.preparation = checkpoint.preparation;
    };
    const auto& champion = checkpoint.champion;
    if (champion && champion->genome) add(champion->origin, *champion->genome);
    for (auto one = checkpoint.genomes.rbegin(); one != checkpoint.genomes.rend(); ++one)
        if (!champion || one->first != champion->origin) add(one->first, *one->second);
    if (networks.empty())
        throw InputError(
            fmt::format("{} holds no genome (it was written before anything was told) use a later "
                        "checkpoint",
                        name));
    return networks;
}

std::vector<InitialFile> read_archive(const fs::path& path, const std::string& name) {
    const std::vector<std::byte> bytes = read_file(path);
    const std::string source = path.string();
    if (decode_container(bytes, source, {}).kind == "checkpoint")
        return genomes_of(distributed::decode_checkpoint(bytes, source), name);
    return {{name, distributed::decode_network(bytes, source)}};
}

/// The number that a name without its extension ends with: files of one kind are numbered.
std::pair<std::string, std::uint64_t> numbered(const fs::path& path) {
    const std::string stem = path.stem().string();
    const std::size_t digits = stem.find_last_not_of("0123456789") + 1;
    std::uint64_t number = 0;
    std::from_chars(stem.data() + digits, stem.data() + stem.size(), number);
    return {stem.substr(0, digits), number};
}

std::vector<fs::path> networks_in(const fs::path& folder) {
    std::vector<fs::path> paths;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".cmb") paths.push_back(entry.path());
    if (paths.empty())
        throw InputError(fmt::format(
            "{} holds neither a checkpoint nor networks (*.cmb) name the directory of a run, or "
            "what 'cambrian extract' wrote",
            folder.string()));
    std::ranges::sort(paths, [](const fs::path& a, const fs::path& b) {
        return std::pair(numbered(a), a) < std::pair(numbered(b), b);
    });
    return paths;
}

std::vector<InitialFile> read_folder(const fs::path& folder, const std::string& name) {
    std::error_code error;
    if (fs::exists(folder / distributed::newest_checkpoint, error))
        return read_archive(folder / distributed::newest_checkpoint, name);
    std::vector<InitialFile> networks;
    for (const fs::path& path : networks_in(folder))
        networks.push_back(
            {(fs::path(name) / path.filename()).string(), distributed::read_network(path)});
    return networks;
}

}  // namespace

bool is_structure(const fs::path& path) {
    return path.extension() == ".json";
}

std::vector<InitialFile> read_initial(const fs::path& path, const std::string& name,
                                      const evolve::TaskSignature& task) {
    std::error_code error;
    if (fs::is_directory(path, error)) return read_folder(path, name);
    if (is_structure(path)) {
        InitialFile structure{name, {}};
        structure.file.genome = read_structure(path, task);
        return {std::move(structure)};
    }
    if (path.extension() == ".safetensors") {
        const Safetensors content = read_safetensors(path);
        if (distributed::holds_codes(content))
            throw InputError(
                "it holds codes of number formats (a run goes on with masters) name the "
                ".cmb that it was made of");
        return {{name, distributed::from_safetensors(content, std::nullopt, path.string())}};
    }
    return read_archive(path, name);
}

}  // namespace cambrian::launch
