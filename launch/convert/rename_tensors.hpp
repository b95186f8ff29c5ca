#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cambrian/engine/io/safetensors.hpp"

namespace cambrian::launch {

/// Applies rules "from=to" in order to the names of tensors. `from` is a whole name or the parts
/// before a dot ("fc1" fits "fc1.weight"); an empty one fits every name and puts `to` before it, an
/// empty `to` takes the parts away. Throws ConfigError for a rule that fits nothing or makes two
/// tensors share a name; `source` names the file.
void rename(Safetensors& content, std::span<const std::string> rules, std::string_view source);

}  // namespace cambrian::launch
