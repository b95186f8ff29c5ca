#include "cambrian/launch/convert/text_network.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/generation/plain_tokenizers.hpp"
#include "cambrian/engine/text/tokenizer_json.hpp"

namespace cambrian::launch {
namespace {

/// The tokenizer that a network's file says itself.
std::optional<Tokenizer> own_tokenizer(const std::optional<evolve::Preparation>& preparation) {
    const std::optional<std::string> unit = text_unit(preparation);
    if (unit == byte_unit) return byte_tokenizer();
    if (unit == character_unit)
        return character_tokenizer(
            std::vector<std::int64_t>(preparation->classes.begin(), preparation->classes.end()));
    return std::nullopt;
}

bool same_tokens(const Tokenizer& one, const Tokenizer& other) {
    bool same = one.size() == other.size();
    for (std::int64_t id = 0; same && id < one.size(); ++id)
        same = one.decode(std::array{id}) == other.decode(std::array{id});
    return same;
}

}  // namespace

std::optional<std::string> text_unit(const std::optional<evolve::Preparation>& preparation) {
    if (!preparation || preparation->inputs.size() != 1) return std::nullopt;
    const std::string& column = preparation->inputs[0].column;
    for (const std::string_view unit : {character_unit, byte_unit, token_unit})
        if (column == unit && preparation->outputs.size() > 1) return column;
    return std::nullopt;
}

bool reads_characters(const evolve::Preparation& preparation) {
    // A column of that name may be in any table: what is told is named, too.
    return preparation.inputs.size() == 1 && preparation.inputs[0].column == character_unit &&
           !preparation.classes.empty() && !preparation.outputs.empty() &&
           preparation.outputs[0].name.starts_with(
               fmt::format("{}{}=", next_prefix, character_unit));
}

Tokenizer tokenizer_of(const std::string& network_path,
                       const std::optional<evolve::Preparation>& preparation,
                       const std::string& named) {
    std::optional<Tokenizer> own = own_tokenizer(preparation);
    if (!named.empty()) {
        Tokenizer tokenizer = named == "bytes" ? byte_tokenizer() : read_tokenizer(named);
        if (own && !same_tokens(*own, tokenizer))
            throw ConfigError(fmt::format(
                "--tokenizer is {} ({} says itself that its tokens are others) leave it out", named,
                network_path));
        const bool says_which = !own && preparation && preparation->tokenizer;
        if (says_which && *preparation->tokenizer != tokenizer_hash(tokenizer.definition()))
            throw ConfigError(
                fmt::format("--tokenizer is {} ({} was trained with another one) name that one",
                            named, network_path));
        // Else there is one class for each token.
        if (!own && !says_which && text_unit(preparation) &&
            preparation->classes.size() != static_cast<std::size_t>(tokenizer.size()))
            throw ConfigError(
                fmt::format("--tokenizer is {} ({} was trained with one of {} tokens, this has {}) "
                            "name that one",
                            named, network_path, preparation->classes.size(), tokenizer.size()));
        return tokenizer;
    }
    if (own) return std::move(*own);
    throw InputError(
        fmt::format("{} does not say what its tokens are ({}) name its tokenizer.json with "
                    "--tokenizer",
                    network_path,
                    text_unit(preparation) ? "it was trained with a tokenizer"
                                           : "it was not trained on text here"));
}

}  // namespace cambrian::launch
