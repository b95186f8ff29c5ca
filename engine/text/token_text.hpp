#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cambrian/engine/text/tokenizer_definition.hpp"

namespace cambrian {

/// What decoders make of each token. They are of the known combinations, in which a token's text
/// does not depend on its neighbours: ByteLevel alone; or Replace, ByteFallback and Fuse, then
/// Strip of one space; or Metaspace.
class TokenTexts {
  public:
    /// Throws InputError, which begins with `source`, for another combination.
    TokenTexts(std::span<const Decoder> decoders, std::string_view source);

    /// The bytes of a token. The text of an added one is meant as it is. Throws InputError where
    /// they are more than 16 times as many, and 64.
    [[nodiscard]] std::string bytes(std::string_view token, bool added) const;
    /// Whether a space at the start of the whole text is left out.
    [[nodiscard]] bool drops_first_space() const { return drops_first_space_; }
    /// Throws InputError where there are no decoders.
    void require_decoder() const;

  private:
    std::span<const Decoder> decoders_;
    std::string source_;
    bool drops_first_space_ = false;
};

}  // namespace cambrian
