#pragma once

#include "cambrian/engine/network/blueprint.hpp"

namespace cambrian {

/// The layer that reads the numbers of rows as ids, or nothing: the first one that is enabled and
/// computes, or one in it; of several the one of the smallest vocabulary.
[[nodiscard]] const Embedding* id_reader(const Blueprint& blueprint);

}  // namespace cambrian
