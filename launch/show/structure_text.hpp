#pragma once

#include <string>

#include "cambrian/distributed/experiment.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {

/// "6" for a vector, "3x8x8" for an image.
[[nodiscard]] std::string shape_text(const Shape& shape);

/// "4 inputs → 2 outputs, 1×1×1×4 grid, 2 layers, 0 links, 114 weights".
[[nodiscard]] std::string structure_line(const Network& network);

/// One line for each filled slot, the layers in it, the head and the links, then the totals
/// (summary.hpp).
[[nodiscard]] std::string structure_table(const Network& network);

/// A line for each thing that the user of a task should know of its data.
[[nodiscard]] std::string notes_text(const evolve::Task& task);

/// Task, population, network and end of an experiment, in a few lines.
[[nodiscard]] std::string summary_text(const distributed::Experiment& experiment);

/// A line for each note.
[[nodiscard]] std::string notes_text(const std::vector<std::string>& notes);
/// A line for each of its notes.
[[nodiscard]] std::string notes_text(const distributed::Experiment& experiment);

/// Everything that a network file says but its weights.
[[nodiscard]] Json network_json(const distributed::NetworkFile& file);

}  // namespace cambrian::launch
