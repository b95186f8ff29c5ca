#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/text/tokenizer_definition.hpp"

namespace cambrian {

/// The words of a text. They are views of the text, or of copies where they were changed.
struct Words {
    std::vector<std::string_view> list;
    std::deque<std::string> owned;
};

/// Throws InputError, which begins with `source`, for a pattern that is no known expression, and
/// where normalizers may move the beginning of a text that a pre-tokenizer asks for.
void check_pre_tokenizers(const TokenizerDefinition& definition, std::string_view source);

/// Cuts a piece of text by pre-tokenizers, one after the other. `begins` says that the piece stands
/// at the start of the whole text.
[[nodiscard]] Words pre_tokenize(std::span<const PreTokenizer> pre_tokenizers,
                                 std::string_view piece, bool begins);

/// A piece of text after normalizers, one after the other. Throws InputError where they make it
/// more than 16 times as long, and 1 KiB.
[[nodiscard]] std::string normalize(std::span<const Normalizer> normalizers, std::string_view text);

/// A text with every occurrence of another, from the left, replaced.
[[nodiscard]] std::string replaced(std::string_view text, std::string_view pattern,
                                   std::string_view content);

}  // namespace cambrian
