#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/network/blueprint.hpp"

// The parts of building a network. Internal to engine/network.
namespace cambrian::network_check {

/// Throws ShapeError unless grid, number of slots, the two widths and the input shape can be used.
void sizes(const Blueprint& blueprint);

/// Walks along the chain, resolving each layer against the rows before it. Throws ShapeError
/// naming slot, layer and both shapes.
class ChainShape {
  public:
    explicit ChainShape(const Blueprint& blueprint)
        : blueprint_(blueprint), shape_(input_row(blueprint)) {}

    [[nodiscard]] const Shape& shape() const { return shape_; }
    void pass(int slot, AnyLayer& layer, bool enabled);
    /// Checks the row after the head.
    void finish() const;

  private:
    void fit(AnyLayer& layer, bool enabled) const;

    const Blueprint& blueprint_;
    Shape shape_;
    std::optional<Shape> preceding_;  ///< Before the layer passed last.
};

/// Throws ShapeError where a slot of a chain is without a clock.
void clocks(const Blueprint& blueprint);
/// Why a link cannot be, if it cannot.
[[nodiscard]] std::optional<std::string_view> link_fault(const Blueprint& blueprint,
                                                         const Link& link);
/// Throws ShapeError unless links are sorted, distinct and join ends that exist in their direction.
void links(const Blueprint& blueprint);

/// The gain or the projection of a link, zero at first. `shapes` are those of rows before every
/// slot and before the head.
[[nodiscard]] ParameterSpec link_parameter(const Blueprint& blueprint,
                                           std::span<const Shape> shapes, const Link& link);

/// Slots whose output is carried to the next step, ascending: those of backward links, or all of a
/// mesh.
[[nodiscard]] std::vector<int> carried_outputs(const Blueprint& blueprint);
/// Slots of a mesh whose input is carried too, since an empty residual after them adds it.
[[nodiscard]] std::vector<int> carried_inputs(const Blueprint& blueprint);

}  // namespace cambrian::network_check
