#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cambrian/evolve/runs/network_file.hpp"

// What a network is beside its weights, as the metadata of a safetensors file. Internal to
// network_tensors.
namespace cambrian::distributed {

using Metadata = std::map<std::string, std::string, std::less<>>;

[[nodiscard]] Metadata metadata_of(const NetworkFile& file);

/// Throws InputError when there is no structure, or none that can be built.
[[nodiscard]] Blueprint blueprint_of(const Metadata& metadata, std::string_view source);

/// Genes and origin of a file that has blueprint and weights. Throws InputError when they do not
/// belong to its network.
void restore(NetworkFile& file, const Metadata& metadata, std::string_view source);

}  // namespace cambrian::distributed
