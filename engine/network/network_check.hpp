#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/network/blueprint.hpp"

// The parts of building a network. Internal to engine/network.
namespace cambrian::network_check {

/// Throws ShapeError unless grid, number of slots and the two widths can be used.
void sizes(const Blueprint& blueprint);

/// Walks along the chain, resolving each layer against the width before it. Throws ShapeError
/// naming slot, layer and both shapes.
class ChainWidth {
  public:
    explicit ChainWidth(const Blueprint& blueprint)
        : blueprint_(blueprint), width_(blueprint.input_features) {}

    [[nodiscard]] std::int64_t width() const { return width_; }
    void pass(int slot, AnyLayer& layer, bool enabled);
    /// Checks the width after the head.
    void finish() const;

  private:
    void fit(AnyLayer& layer, bool enabled) const;

    const Blueprint& blueprint_;
    std::int64_t width_ = 0;
    std::int64_t preceding_ = 0;  ///< Width before the layer passed last; 0 before the first.
};

/// Throws ShapeError unless links are sorted, distinct and join ends that exist in their direction.
void links(const Blueprint& blueprint);

/// The gain or the projection of a link, zero at first.
[[nodiscard]] ParameterSpec link_parameter(const Blueprint& blueprint,
                                           std::span<const std::int64_t> widths, const Link& link);

/// Slots whose output is carried to the next step, ascending.
[[nodiscard]] std::vector<int> backward_sources(const Blueprint& blueprint);

[[nodiscard]] Hash128 structure_key(const Blueprint& blueprint);

}  // namespace cambrian::network_check
