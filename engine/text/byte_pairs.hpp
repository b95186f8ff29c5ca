#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/text/token_index.hpp"
#include "cambrian/engine/text/tokenizer_definition.hpp"

namespace cambrian {

/// Byte-pair encoding of words (Sennrich, Haddow and Birch, "Neural machine translation of rare
/// words with subword units", 2016): the symbols of a word, and of two that stand beside each other
/// those merged first whose merge stands first in the list, the leftmost of equal ones.
class BytePairs {
  public:
    /// Throws InputError, which begins with `source`, where merges or tokens that the definition
    /// names are not in its vocabulary. The definition outlives this object. `bytes` says that
    /// symbols are the bytes of words, in GPT-2's alphabet, rather than their characters.
    BytePairs(const TokenizerDefinition& definition, bool bytes, std::string_view source);

    /// The ids of words; remembers those of short ones. One for each encoding of a text.
    class Encoder {
      public:
        Encoder(const BytePairs& pairs, std::size_t text_length);
        /// Adds the ids of a word. Throws InputError where it has a character without a token.
        void add(std::string_view word, std::vector<std::int64_t>& ids);

      private:
        struct Symbol {
            std::uint32_t id = 0;
            std::int32_t previous = -1;
            std::int32_t next = -1;
            std::uint32_t rank = 0;    ///< Of the merge with the next symbol.
            std::uint32_t merged = 0;  ///< What that merge gives.
        };
        struct Known {
            std::string word;
            std::vector<std::int64_t> ids;
        };
        void encode(std::string_view word, std::vector<std::int64_t>& ids);
        void add_symbol(std::uint32_t id);
        void read_bytes(std::string_view word);
        void read_characters(std::string_view word);
        void look_up(std::size_t at);
        void merge();

        const BytePairs& pairs_;
        std::vector<Known> known_;
        std::vector<Symbol> symbols_;
        std::vector<std::uint64_t> waiting_;  ///< A heap of (rank, place).
    };

    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view token) const {
        return index_.find(token);
    }

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFF;
    struct Merge {
        std::uint32_t right = 0;
        std::uint32_t rank = 0;
        std::uint32_t merged = 0;
    };
    void read_merges(const TokenizerDefinition& definition, std::string_view source);
    void read_symbols(std::string_view source);
    [[nodiscard]] const Merge* find(std::uint32_t left, std::uint32_t right) const;

    const TokenizerDefinition& definition_;
    bool bytes_;
    TokenIndex index_;
    std::uint32_t unknown_ = none;
    std::array<std::uint32_t, 256> byte_ids_{};  ///< Of bytes, or of "<0x00>" and so on.
    std::vector<std::uint32_t> begins_;          ///< Of each left id its first merge in merges_.
    std::vector<Merge> merges_;                  ///< In the order of (left, right).
};

}  // namespace cambrian
