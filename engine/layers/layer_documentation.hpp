#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/layers/any_layer.hpp"

namespace cambrian {

/// What a reader wants to know of one field of a layer type.
struct FieldDocumentation {
    std::string name;
    std::string type;     ///< "integer", "number", "list of layers", ..
    std::string initial;  ///< Its default, as JSON.
    std::string allowed;  ///< Its range; empty where every value of the type is.
    std::string meaning;  ///< What the rest leaves open; may be empty.
};

/// A layer type, told from what its struct holds.
struct LayerDocumentation {
    std::string_view name;
    LayerText about;
    std::vector<FieldDocumentation> fields;
    AnyLayer example;  ///< Resolved for the row.
    Shape row;         ///< A row that the example takes.
};

/// Of a layer's type; the values of the layer do not matter.
[[nodiscard]] LayerDocumentation documentation(const AnyLayer& layer);

/// A row that a layer takes: that of its type's example, or a vector of the first width that fits.
[[nodiscard]] Shape example_row(const AnyLayer& layer);

}  // namespace cambrian
