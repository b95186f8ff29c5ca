#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/evolve/runs/network_file.hpp"

// Networks as safetensors: each parameter is a tensor named by its path (Network::weight_name), and
// the metadata say the rest: "network" the structure, as a section of a config; "genes" the
// historical ids; "origin" the run, with the hash of the genome that it evaluated.
namespace cambrian::distributed {

/// The name of the stored type whose elements can be weights. Throws ConfigError naming those that
/// can.
[[nodiscard]] StoredType weight_type(std::string_view name);

/// Weights are rounded to the type.
[[nodiscard]] Safetensors to_safetensors(const NetworkFile& file, StoredType type);

/// The network that a file describes, or one of another structure, which then has the genes of a
/// founder and no origin. The fitness comes back only with the very weights that have it. `source`
/// names the file in the text of an InputError: every weight must be there in its shape, and
/// nothing else.
[[nodiscard]] NetworkFile from_safetensors(const Safetensors& content,
                                           const std::optional<Blueprint>& structure,
                                           std::string_view source);

// What a network is beside its weights, also for other formats (launch/convert).
using Metadata = std::map<std::string, std::string, std::less<>>;

[[nodiscard]] Metadata metadata_of(const NetworkFile& file);

/// Throws InputError when there is no structure, or none that can be built.
[[nodiscard]] Blueprint blueprint_of(const Metadata& metadata, std::string_view source);

/// Genes and origin of a file that has blueprint and weights. Throws InputError when they do not
/// belong to its network.
void restore(NetworkFile& file, const Metadata& metadata, std::string_view source);

}  // namespace cambrian::distributed
