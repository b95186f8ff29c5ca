#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/models/universal.hpp"

// Models as folders: tensors in safetensors beside a config.json.
namespace cambrian::models {

inline constexpr std::string_view auto_family = "auto";
/// Modules in a chain, as torch.nn has them.
inline constexpr std::string_view torch_family = "torch";

/// All names that --family takes: auto, those of families, torch.
[[nodiscard]] std::vector<std::string_view> family_choices();

struct LoadedModel {
    std::string family;  ///< What it was read as.
    Blueprint blueprint;
    std::vector<float> weights;
    std::vector<ModuleLayer> layers;  ///< Where names and shapes alone told them.
    std::vector<std::string> notes;   ///< Lines for people.
    std::string preparation{};        ///< As SaveOptions has it.
};
/// Reads a model. `auto` goes by the "model_type" in the config.json beside the tensors, and where
/// there is none by names and shapes, as `torch` does where no config of ours says more. Throws
/// InputError, ConfigError or ShapeError.
/// @param path as TensorFiles takes it.
[[nodiscard]] LoadedModel load_model(const std::filesystem::path& path, std::string_view family,
                                     const UniversalOptions& options);

struct SaveOptions {
    StoredType type = StoredType::f32;
    std::uint64_t shard_bytes = 5'000'000'000;  ///< Of tensors in a file; a tensor is never split.
    /// JSON on how rows become inputs, which a config of ours (torch_family) keeps and those of
    /// others have no place for; empty: none.
    std::string preparation{};
};
struct SavedModel {
    std::size_t files = 0;  ///< Of tensors.
    std::vector<std::string> notes;
};
/// Writes a network into a folder, which is made: config.json and model.safetensors, or several
/// files and their index. Weights with a number format are the numbers that their codes stand for.
/// Those of rows stay in a config of ours (torch_family). Throws ConfigError where the network is
/// not of the family or its rows have a number format that the family has no place for, where
/// torch_type() does not know the type, and where the folder has a model.
[[nodiscard]] SavedModel save_model(const std::filesystem::path& folder, std::string_view family,
                                    const Network& network, std::span<const float> weights,
                                    const SaveOptions& options);

}  // namespace cambrian::models
