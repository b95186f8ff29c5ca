#pragma once

#include <string>
#include <vector>

#include "cambrian/engine/layers/any_layer.hpp"

namespace cambrian::test {

/// A layer and a row that it takes.
struct LayerSample {
    std::string name;  ///< Letters, digits and underscores.
    AnyLayer layer;    ///< Resolved for the row.
    Shape row;
};

/// The examples of every layer type, and further ways to use them. Names are distinct.
[[nodiscard]] const std::vector<LayerSample>& layer_samples();

}  // namespace cambrian::test
