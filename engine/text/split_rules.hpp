#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace cambrian {

/// One alternative of an expression: → where its match ends that begins at a byte of the text, or
/// that byte where it does not match. Reads as far as the match and one run of white space.
using SplitAlternative = std::size_t (*)(std::string_view text, std::size_t at);

/// An expression by which known tokenizers cut texts into words. Each of them matches at every
/// place, by the first alternative that does.
struct SplitRule {
    std::string_view name;     ///< Of the model it is known from.
    std::string_view pattern;  ///< As tokenizer.json has it.
    std::span<const SplitAlternative> alternatives;

    /// Where the word ends that begins at a byte before the end of a valid text.
    [[nodiscard]] std::size_t end(std::string_view text, std::size_t at) const;
};

[[nodiscard]] std::span<const SplitRule> split_rules();
/// That of GPT-2, which ByteLevel uses.
[[nodiscard]] const SplitRule& gpt2_rule();
/// The rule of a pattern, or null.
[[nodiscard]] const SplitRule* find_split_rule(std::string_view pattern);

}  // namespace cambrian
