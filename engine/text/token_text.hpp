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
    /// The same of the first token of a text: Strip leaves out one space before it, Metaspace all
    /// marks in it, unless it never puts one there.
    [[nodiscard]] std::string first_bytes(std::string_view token, std::string_view bytes) const;
    /// Throws InputError where there are no decoders.
    void require_decoder() const;

  private:
    std::span<const Decoder> decoders_;
    std::string source_;
    bool strips_space_ = false;
    const MetaspaceDecoder* drops_marks_ = nullptr;
};

}  // namespace cambrian
