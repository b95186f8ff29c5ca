#pragma once

#include <optional>
#include <string>

#include "cambrian/engine/text/tokenizer.hpp"
#include "cambrian/evolve/genome/preparation.hpp"

// What the tokens of a network are.
namespace cambrian::launch {

/// "character", "byte" or "token" for a network that was trained on text, else nothing.
[[nodiscard]] std::optional<std::string> text_unit(
    const std::optional<evolve::Preparation>& preparation);

/// Whether rows have code points where the network sees the places of these among its classes.
[[nodiscard]] bool reads_characters(const evolve::Preparation& preparation);

/// The tokenizer of a network: the one that is named ("bytes", or a tokenizer.json), else that of
/// the characters or bytes that its file says it was trained on. Throws InputError where neither
/// tells, ConfigError for another tokenizer than the one it was trained with, as far as its file
/// tells.
[[nodiscard]] Tokenizer tokenizer_of(const std::string& network_path,
                                     const std::optional<evolve::Preparation>& preparation,
                                     const std::string& named);

}  // namespace cambrian::launch
