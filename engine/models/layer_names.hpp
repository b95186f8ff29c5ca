#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/models/tensor_rule.hpp"

// What other programs call the tensors of a layer: the table that PyTorch's modules are read and
// written by.
namespace cambrian::models {

enum class TensorUse : std::uint8_t {
    needed,
    bias,  ///< May be missing: then it is zero, and where all of a layer are, there are none.
};

/// A tensor of a layer, by the names after the layer's own.
struct TensorName {
    std::vector<std::string_view> ours;
    std::vector<std::string_view> theirs;  ///< The first is written.
    int rank = 0;                          ///< Of the tensor.
    TensorUse use = TensorUse::needed;
    Form form = Form::same;
};

/// The shapes of tensors by the first of our names.
using ShapesOfLayer = std::map<std::string_view, Shape, std::less<>>;
/// Fields of a layer as JSON texts.
using LayerFields = std::map<std::string, std::string>;

/// A layer by the tensors that it has. A type may have several forms.
struct LayerNames {
    std::string_view type;  ///< As AnyLayer::type().
    std::vector<TensorName> tensors;
    std::vector<std::string_view> buffers;  ///< Names that hold nothing learnt.
    std::vector<std::string_view> untold;   ///< Fields that no shape tells.
    bool only_named = false;                ///< Its shapes are those of another type.
    /// Fills the fields that shapes tell; false where they are not those of the layer.
    bool (*measure)(const ShapesOfLayer& shapes, LayerFields& fields) = nullptr;
    std::string_view alike = {};  ///< What else has these tensors, for people.
};

/// The table; a form that asks for more stands before one that asks for less.
[[nodiscard]] std::span<const LayerNames> layer_names();
/// The form that a layer is written in, or null for a layer that other programs have no names for.
[[nodiscard]] const LayerNames* names_of(const AnyLayer& layer);

/// The rules of all weights of a network as a chain of modules: "0.weight", an activation after a
/// layer counting as a module of its own; layers of containers are "3.layers.1.weight".
[[nodiscard]] std::vector<TensorRule> module_rules(const Network& network);
/// The tensors of such a chain that hold nothing learnt, as patterns.
[[nodiscard]] std::vector<std::string> module_buffers(const Network& network);

}  // namespace cambrian::models
