#include "cambrian/evolve/tasks/table/preparation.hpp"

#include <fmt/format.h>

namespace cambrian::evolve {

Preparation table_preparation(const TableData& data, const TableSettings& settings) {
    Preparation preparation;
    // Windows with a warm-up overlap: what they answer first does not count.
    if (settings.warm_up == 0) preparation.sequence_rows = settings.sequence_length;
    for (std::size_t i = 0; i < data.inputs.size(); ++i)
        preparation.inputs.push_back({.column = data.input_names[i], .scaling = data.inputs[i]});
    preparation.classes = data.classes;
    for (const double value : data.classes)
        preparation.outputs.push_back({.name = fmt::format("{}={}", settings.targets[0], value)});
    if (settings.mode == TableMode::classification) return preparation;
    for (std::size_t i = 0; i < settings.targets.size(); ++i)
        preparation.outputs.push_back({.name = settings.targets[i],
                                       .scaling = data.outputs[i],
                                       .current = settings.difference ? settings.targets[i] : ""});
    return preparation;
}

}  // namespace cambrian::evolve
