#pragma once

#include <cstdint>
#include <string>

#include "cambrian/engine/models/model_files.hpp"
#include "cambrian/evolve/runs/network_file.hpp"

// Models of others as networks, and back.
namespace cambrian::launch {

/// A model as the network of a file, and what is to be said of it: lines, or nothing.
struct ConvertedModel {
    distributed::NetworkFile file;
    std::string lines;
};
/// @param path a .safetensors, an index or a folder. Throws as models::load_model.
[[nodiscard]] ConvertedModel read_model(const std::string& path, const std::string& family,
                                        const models::UniversalOptions& options);
/// Writes a folder; lines on it, with what it does not say of the preparation of rows. Throws as
/// models::save_model.
[[nodiscard]] std::string write_model(const std::string& folder, const std::string& family,
                                      const distributed::NetworkFile& file,
                                      models::SaveOptions options);

/// Whether a path names tensors without a structure of ours: a folder, or an index.
[[nodiscard]] bool is_model(const std::string& path);

}  // namespace cambrian::launch
