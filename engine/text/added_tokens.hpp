#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/text/tokenizer_definition.hpp"

namespace cambrian {

/// A piece of a text that was searched for added tokens.
struct TextPiece {
    std::string_view text;              ///< Of a token without the white space that it takes.
    const AddedToken* token = nullptr;  ///< Null: none, the text between tokens.
};

/// Finds added tokens in texts: the leftmost, and of those the longest.
class AddedTokens {
  public:
    /// Longer ones are refused by those who read files, so that a search takes time in proportion
    /// to the text.
    static constexpr std::size_t longest = 512;

    /// Tokens, and the texts that they are looked for as. Both outlive this object.
    AddedTokens() = default;
    AddedTokens(std::span<const AddedToken* const> tokens, std::vector<std::string> texts);

    /// Calls with every piece that is not empty, in order.
    void search(std::string_view text, const std::function<void(const TextPiece&)>& found) const;

  private:
    struct Entry {
        std::string text;
        const AddedToken* token = nullptr;
    };
    [[nodiscard]] const Entry* longest_at(std::string_view text, std::size_t at) const;

    std::vector<Entry> entries_;  ///< In the order of their texts.
    std::array<bool, 256> begins_{};
};

}  // namespace cambrian
