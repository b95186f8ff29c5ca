#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cambrian/engine/layers/custom/custom_layer.hpp"

namespace cambrian {

/// What the code of a custom layer adds to a graph must be what the layer says of itself: what has
/// another shape would be used in another way. Made before that code runs.
class LayerResults {
  public:
    LayerResults(const CustomLayer& layer, Var x, const LayerOperands& operands);

    /// Of a step; throws std::logic_error that says what is wrong.
    void check(Var output, std::span<const Var> state) const;
    /// Of a sequence.
    void check(Var output) const;

  private:
    void check_state(std::span<const Var> state) const;
    /// Of running statistics.
    void check_updates() const;
    void require(const std::string& what, Var value, const Shape& shape) const;

    const CustomLayer& layer_;
    const LayerOperands& operands_;
    Var x_;
    std::vector<std::int64_t> leading_;  ///< Axes of the input before its row.
    std::size_t known_ = 0;              ///< Updates of layers before.
};

}  // namespace cambrian
