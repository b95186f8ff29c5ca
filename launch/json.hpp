#pragma once

#include <nlohmann/json_fwd.hpp>

namespace cambrian::launch {

/// JSON that keeps the order of its keys: configs are shown as their writer wrote them.
using Json = nlohmann::ordered_json;

}  // namespace cambrian::launch
