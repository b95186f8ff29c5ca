#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/network/network_text.hpp"
#include "cambrian/evolve/genome/genome.hpp"
#include "cambrian/evolve/genome/preparation.hpp"
#include "cambrian/evolve/variation/birth.hpp"
#include "cambrian/evolve/variation/variation.hpp"

namespace cambrian::distributed {

/// 2: a section "preparation", which a file may lack. 3: a section "structure", JSON for readers
/// that do not know layers, as configs/python/cambrian_read.py: the network as a config has it, and
/// names and shapes of its weights. What the file holds is in "genome"; this one is never read
/// here.
inline constexpr std::uint32_t network_format = 3;
inline constexpr std::uint32_t oldest_network_format = 1;

/// A network on disk (best.cmb): the genome, where it comes from and the identity keys of its run.
struct NetworkFile {
    evolve::Genome genome;
    std::string identity_json;  ///< Empty for a network that no run produced (cambrian splice).
    std::uint64_t generation = 0;
    evolve::BirthId birth = 0;
    double fitness = evolve::worst_fitness;
    std::optional<double> validated;
    /// How rows become its inputs; none where no task prepares rows, and in files of version 1.
    std::optional<evolve::Preparation> preparation{};
    bool operator==(const NetworkFile&) const = default;
};

/// Gives a file another genome. Unless it is the same, nobody knows what it is worth.
void replace_genome(NetworkFile& file, evolve::Genome genome);

/// Bytes of a section with an identity, which is a config, and some numbers.
inline constexpr std::uint64_t longest_about =
    network_text_limits.length + (std::uint64_t{1} << 20U);
/// The config that a network is of; null where no run produced it.
[[nodiscard]] nlohmann::ordered_json identity_of(const NetworkFile& file);

/// Where files of networks and checkpoints keep how rows become inputs.
inline constexpr const char* preparation_section = "preparation";
/// What a file says of it; none where it lacks the section. Throws InputError naming `source`.
[[nodiscard]] std::optional<evolve::Preparation> preparation_in(const Container& container,
                                                                const std::string& source);

/// Has the preparation of an older file say that each row is shown for some steps, where only the
/// task of its run did. In files that say it themselves that task always agrees.
void tell_shown(NetworkFile& file);

/// Whether it is no network, but what one develops from: a genotype of HyperNEAT, which has genes
/// of neurons, as no network that develops has.
[[nodiscard]] bool is_genotype(const NetworkFile& file);
/// Throws InputError for a genotype.
void require_network(const NetworkFile& file, std::string_view source);

/// Why a text cannot be the identity of a run, or an empty text.
[[nodiscard]] std::string identity_fault(const std::string& identity_json);

[[nodiscard]] std::vector<std::byte> encode(const NetworkFile& file);
/// Reads this version of the format and the ones before. Throws InputError naming `source` for
/// damaged bytes or another kind of .cmb.
[[nodiscard]] NetworkFile decode_network(std::span<const std::byte> bytes,
                                         const std::string& source);
void write_network(const std::filesystem::path& path, const NetworkFile& file);
/// Writes a network of a run to a file. Where genomes are genotypes, the file has the network that
/// develops, and the genotype goes to another one.
void write_networks(const std::filesystem::path& path, const std::filesystem::path& genotype_path,
                    const NetworkFile& file, const evolve::Variation& variation);
/// Throws InputError for a missing file, too.
[[nodiscard]] NetworkFile read_network(const std::filesystem::path& path);

/// The copies of network.initial in a run directory, so that neither the hosts of the workers nor a
/// resume need the files themselves: initial.cmb, and of several the others in the folder initial.
/// @param index which of several.
[[nodiscard]] std::filesystem::path initial_copy(const std::filesystem::path& run_directory,
                                                 std::size_t index = 0);
/// Makes these the copies: those that were there of others are removed.
void write_initial(const std::filesystem::path& run_directory,
                   const std::vector<evolve::Genome>& genomes);

}  // namespace cambrian::distributed
