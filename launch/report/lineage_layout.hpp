#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "cambrian/launch/report/data/ancestry.hpp"

namespace cambrian::launch {

/// An ancestor in the picture.
struct PlacedKin {
    const Kin* kin = nullptr;
    std::size_t column = 0;  ///< Of its generation, from the left.
    std::size_t lane = 0;    ///< From the top.
};

/// From a child to a parent, or to the nearest ancestor by first parents that is drawn.
struct DrawnDescent {
    evolve::BirthId child = 0;
    evolve::BirthId ancestor = 0;
    bool first = true;        ///< By first parents.
    std::size_t skipped = 0;  ///< Births between them that are left out.
};

/// Where the ancestors of a birth stand in a picture.
struct LineageLayout {
    std::vector<const Kin*> main_line;  ///< The birth, its first parent, its first parent, ..
    std::map<evolve::BirthId, PlacedKin> placed;
    std::vector<DrawnDescent> descents;
    std::vector<std::uint32_t> generations;  ///< Of the columns.
    std::size_t lanes = 0;
};

/// All ancestors where they are few, else those of the line of first parents (of many those
/// whose fitness differs most from their parent's) and their second parents.
[[nodiscard]] LineageLayout lineage_layout(const Ancestry& ancestry, const Lineage& lineage,
                                           evolve::BirthId last);

}  // namespace cambrian::launch
