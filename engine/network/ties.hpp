#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/network/blueprint.hpp"

// Weights that one layer takes from another (Dense::tied): the table of an embedding, or the weight
// of a dense layer.
namespace cambrian {

/// A tensor of another layer that a layer takes as its weight.
struct Tie {
    int slot = 0;                ///< Of the layer that has it.
    std::string_view parameter;  ///< Its name there.
};

/// Nothing for a layer with a weight of its own, and for a name that cannot be one.
[[nodiscard]] std::optional<Tie> tie_of(const AnyLayer& layer);
/// Whether any layer takes a tensor of this slot.
[[nodiscard]] bool lends(const Blueprint& blueprint, int slot);
/// The slots whose layers take this tensor of a slot; that of the head is slots().
[[nodiscard]] std::vector<int> borrowers(const Blueprint& blueprint, int slot,
                                         std::string_view parameter);
/// Whether a layer that is enabled takes this tensor of a slot.
[[nodiscard]] bool lends_to_enabled(const Blueprint& blueprint, int slot,
                                    std::string_view parameter);
/// Lets ties follow slots that have other numbers; `number` gives the new one of each.
void renumber_ties(Blueprint& blueprint, const std::function<int(int)>& number);
/// What is wrong with the ties of a blueprint whose layers are resolved, or an empty text: a name
/// of nothing that can be shared, a tensor of another shape or that is tied itself, a tie within a
/// container.
[[nodiscard]] std::string tie_fault(const Blueprint& blueprint);

}  // namespace cambrian
