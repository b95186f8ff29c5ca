#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cambrian/evolve/genome/preparation.hpp"
#include "cambrian/launch/config/network_task.hpp"

namespace cambrian::launch {

/// How rows of data reach the network of a file: as the file says. A file of a table or a data set
/// that does not say it, of an older version, has its task made again, with the data that it was
/// trained on and `overrides` (--set). All other networks take columns as they are, by position.
/// Throws InputError with a remedy when that task cannot be made, ConfigError for overrides of a
/// file that needs none.
[[nodiscard]] evolve::Preparation preparation_of(const std::string& network_path,
                                                 const distributed::NetworkFile& network,
                                                 std::span<const std::string> overrides,
                                                 const evolve::TaskRegistry& tasks);

/// Of the child of two networks with equally many inputs and outputs: that of the fitter one. What
/// is not as both say is added to `note`, a line. Throws ConfigError when the two read other
/// columns or answer something else.
[[nodiscard]] std::optional<evolve::Preparation> child_preparation(const NamedNetwork& fitter,
                                                                   const NamedNetwork& other,
                                                                   std::string& note);

/// Preparation of a network file for people, a few lines: columns with what happens to them,
/// outputs, classes.
[[nodiscard]] std::string preparation_text(const evolve::Preparation& preparation);

}  // namespace cambrian::launch
