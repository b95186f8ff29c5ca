#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cambrian/engine/models/layer_names.hpp"

namespace cambrian::models {

/// A layer that the names and shapes of tensors tell of.
struct FoundModule {
    std::string path;  ///< What is before the names of its tensors, without the dot.
    const LayerNames* names = nullptr;
    LayerFields fields;             ///< What shapes tell.
    std::vector<TensorRule> rules;  ///< Our names are those in the layer.
    std::vector<std::pair<std::string, Shape>> tensors;
    std::vector<std::string> buffers;
    bool by_letters = false;  ///< Nothing but letters tells that it follows the one before.
};

/// What a caller knows of modules beside their tensors.
struct ModuleChoice {
    std::map<std::string, std::string, std::less<>> types;  ///< Of a path.
    std::vector<std::string> order;                         ///< Paths that come first, in order.
};

/// Whether the name of a module is that of a table of learned positions.
[[nodiscard]] bool names_positions(std::string_view path);

/// Groups tensors by the prefixes of their names into modules. They come in the order of `order`,
/// of the roles that names tell (embedding, first norm, attention, second norm, hidden layers, ..,
/// last norm, head), of numbers and of letters. Throws InputError that names tensors which are
/// those of no layer, or have queries and keys and are no attention; ConfigError where a choice
/// fits nothing.
[[nodiscard]] std::vector<FoundModule> find_modules(const std::map<std::string, Shape>& tensors,
                                                    const ModuleChoice& choice,
                                                    std::string_view source);

}  // namespace cambrian::models
