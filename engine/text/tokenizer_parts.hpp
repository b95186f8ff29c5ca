#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cambrian/engine/text/tokenizer_definition.hpp"

namespace cambrian {

/// Reads normalizers, pre-tokenizers, post-processor and decoders of a tokenizer.json. Throws
/// ConfigError that names the path of what is not known.
void read_steps(const nlohmann::json& root, TokenizerDefinition& result);

}  // namespace cambrian
