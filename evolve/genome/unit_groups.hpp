#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/evolve/genome/genome_layout.hpp"

namespace cambrian::evolve {

/// An axis of a parameter tensor in a weight vector.
struct TensorAxis {
    GeneWeights gene;           ///< Whose tensor it is.
    std::size_t parameter = 0;  ///< Which of the gene's tensors.
    std::int64_t offset = 0;    ///< Of the tensor.
    std::vector<std::int64_t> extents;
    std::size_t axis = 0;
};

/// Units of a layer that may be numbered in any order: the network computes the same while all
/// these axes have the same order.
struct UnitGroup {
    int slot = 0;
    std::int64_t units = 0;
    std::vector<TensorAxis> axes{};
};

/// The groups of a network, in the order of their slots: the units of dense layers, convolutions
/// and recurrent layers that a layer reads by weights, with at most pooling, dropout and norms
/// between. Not those that something else adds to element by element (a residual, a link that is a
/// gain), those that a slot which is disabled passes on, nor those of weights that layers share.
[[nodiscard]] std::vector<UnitGroup> unit_groups(const Blueprint& blueprint);

}  // namespace cambrian::evolve
