#pragma once

#include <string>

#include "cambrian/engine/graph/graph.hpp"

// What dumps have in common. Internal to engine/graph.
namespace cambrian {

/// "v7"
[[nodiscard]] std::string value_label(ValueId id);
/// "real [5, 16] *", with the star of what every individual has for itself.
[[nodiscard]] std::string info_text(const ValueInfo& info);
/// Attributes of a node, empty when there is nothing to say.
[[nodiscard]] std::string attribute_text(const Graph& graph, const Node& node);
/// The body of a scan or a fusion group, or null.
[[nodiscard]] const Graph* body_of(const Node& node);

}  // namespace cambrian
