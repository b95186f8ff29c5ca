#include "cambrian/launch/convert/text_network.hpp"

#include <fmt/format.h>

#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/generation/plain_tokenizers.hpp"
#include "cambrian/engine/text/tokenizer_json.hpp"

namespace cambrian::launch {

std::optional<std::string> text_unit(const std::optional<evolve::Preparation>& preparation) {
    if (!preparation || preparation->inputs.size() != 1) return std::nullopt;
    const std::string& column = preparation->inputs[0].column;
    for (const std::string_view unit : {character_unit, byte_unit, token_unit})
        if (column == unit && preparation->outputs.size() > 1) return column;
    return std::nullopt;
}

Tokenizer tokenizer_of(const std::string& network_path,
                       const std::optional<evolve::Preparation>& preparation,
                       const std::string& named) {
    const std::optional<std::string> unit = text_unit(preparation);
    if (named == "bytes" || (named.empty() && unit == byte_unit)) return byte_tokenizer();
    if (!named.empty()) return read_tokenizer(named);
    if (unit == character_unit)
        return character_tokenizer(
            std::vector<std::int64_t>(preparation->classes.begin(), preparation->classes.end()));
    throw InputError(
        fmt::format("{} does not say what its tokens are ({}) name its tokenizer.json with "
                    "--tokenizer",
                    network_path,
                    unit ? "it was trained with a tokenizer" : "it was not trained on text here"));
}

}  // namespace cambrian::launch
