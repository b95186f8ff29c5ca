#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/text/tokenizer.hpp"
#include "cambrian/engine/text/tokenizer_definition.hpp"

namespace cambrian {

/// A tokenizer.json of Hugging Face's tokenizers, for models of the kind BPE. What it asks for and
/// is not known here is refused by name, never left out. Throws InputError that begins with
/// `source`.
[[nodiscard]] TokenizerDefinition parse_tokenizer(std::string_view json, std::string_view source);

/// The same as a file's text; parse_tokenizer() gives the definition back.
[[nodiscard]] std::string tokenizer_json(const TokenizerDefinition& definition);

/// Tells tokenizers apart by all that tokenizer.json says, not by how it is laid out. Files of
/// networks keep it: what tokenizer_json() writes of a definition may not change.
[[nodiscard]] Hash128 tokenizer_hash(const TokenizerDefinition& definition);

/// Reads tokenizer.json at a path, or in a folder. Throws InputError.
[[nodiscard]] Tokenizer read_tokenizer(const std::filesystem::path& path);

}  // namespace cambrian
