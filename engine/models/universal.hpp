#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/engine/models/module_tree.hpp"

namespace cambrian::models {

/// What neither names nor shapes of tensors tell, as a user says it.
struct UniversalOptions {
    /// "heads=12", or of one module "fc1.activation=relu": any field of a layer, or "type". Values
    /// are JSON, or words.
    std::vector<std::string> fields{};
    /// "conv1=max_pool2d" or "conv1={\"type\": \"max_pool2d\", \"kernel\": 2}": a layer without
    /// parameters after a module.
    std::vector<std::string> insertions{};
    std::vector<std::string> order{};   ///< Paths of modules that come first.
    std::string blocks{};               ///< "pre_norm" or "plain"; empty: not told.
    std::vector<std::int64_t> input{};  ///< Shape of a row; empty: as the first module is wide.
};

/// A module and the layer that it became.
struct ModuleLayer {
    FoundModule module;
    std::string weights;  ///< What the names of its weights begin with: "slot.2.layers.1.".
    std::string layer;    ///< As JSON.
};
struct UniversalPlan {
    ModelPlan plan;
    std::vector<ModuleLayer> layers;
};

/// Makes a chain of layers of what tensors tell (find_modules). In numbered blocks ("layers.0.")
/// with `pre_norm` a norm and what follows it up to the next norm is added to what enters it. A
/// table of positions becomes that of the embedding before it. Throws InputError that names the
/// option for everything that is not told, and for embeddings and norms by their names that would
/// read what they cannot be of; ConfigError for an option that fits nothing, ShapeError for layers
/// that do not fit one after another.
[[nodiscard]] UniversalPlan universal_plan(const TensorFiles& files,
                                           const UniversalOptions& options);

}  // namespace cambrian::models
