#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cambrian {

struct TokenizerDefinition;

/// Whether encode() adds what the tokenizer puts around every text (such as a token for its start).
enum class Surround { yes, no };
/// Whether decode() shows the names of special tokens.
enum class SpecialTokens { leave_out, show };

/// Texts as numbers and back: byte-pair encoding over bytes or characters, as tokenizer.json of
/// Hugging Face's tokenizers defines it (text/tokenizer_json.hpp). A value: copies share what they
/// hold, and may be used by several threads.
class Tokenizer {
  public:
    /// Throws InputError where the definition contradicts itself; `source` names it in the text.
    explicit Tokenizer(TokenizerDefinition definition, std::string_view source = "the tokenizer");

    /// The ids of a text, in time O(n log n) of its bytes whatever they are. Throws InputError
    /// where the text is not UTF-8, or has a character that no token stands for.
    [[nodiscard]] std::vector<std::int64_t> encode(std::string_view text) const {
        return encode(text, Surround::yes);
    }
    [[nodiscard]] std::vector<std::int64_t> encode(std::string_view text, Surround surround) const;

    /// The text of ids. Bytes that make no character become U+FFFD. Throws InputError for an id
    /// that is none.
    [[nodiscard]] std::string decode(std::span<const std::int64_t> ids) const {
        return decode(ids, SpecialTokens::leave_out);
    }
    [[nodiscard]] std::string decode(std::span<const std::int64_t> ids,
                                     SpecialTokens special) const;

    /// The largest id and one: the rows of an embedding that this tokenizer needs.
    [[nodiscard]] std::int64_t size() const;
    /// The id of a token by its name in the vocabulary ("<|endoftext|>", "Ġthe"), if there is one.
    [[nodiscard]] std::optional<std::int64_t> id_of(std::string_view token) const;
    /// The name of a token; empty where no token has the id.
    [[nodiscard]] std::string_view token(std::int64_t id) const;
    /// Whether an id is of a token that stands for no text.
    [[nodiscard]] bool is_special(std::int64_t id) const;
    /// Ids of the special tokens after which a model has said all ("</s>", "<|im_end|>",
    /// "<|eot_id|>" and so on), in ascending order: where a generation ends. "<|end|>" is one of
    /// them only where there is no "<|return|>": more messages may follow it then.
    [[nodiscard]] std::vector<std::int64_t> end_tokens() const;
    /// What a token adds to a text, as bytes: a character may be spread over several tokens. Throws
    /// InputError for an id that is none.
    [[nodiscard]] std::string_view bytes(std::int64_t id) const;
    /// The same where it is the first of a text: some tokenizers put a space there in encode(),
    /// which decode() leaves out.
    [[nodiscard]] std::string first_bytes(std::int64_t id) const;

    [[nodiscard]] const TokenizerDefinition& definition() const;

  private:
    struct State;
    std::shared_ptr<const State> state_;
};

/// What stands before the ids that are decoded: the start of a text, whose first space some
/// tokenizers drop, or more of it.
enum class Before : std::uint8_t { nothing, text };

/// Decodes ids one by one, as a generation gives them: what it returns, joined, is what decode()
/// gives for all of them; after a text, such as a prompt, with their first space.
class StreamDecoder {
  public:
    explicit StreamDecoder(Tokenizer tokenizer, SpecialTokens special = SpecialTokens::leave_out,
                           Before before = Before::nothing)
        : tokenizer_(std::move(tokenizer)),
          special_(special),
          before_(before),
          begun_(before == Before::text) {}

    /// The text that is whole after this id: bytes of a character that may yet be completed are
    /// held back.
    [[nodiscard]] std::string add(std::int64_t id);
    /// What is left at the end: U+FFFD for a character that was never completed, or nothing. The
    /// decoder is as new afterwards.
    [[nodiscard]] std::string finish();

  private:
    Tokenizer tokenizer_;
    SpecialTokens special_;
    Before before_;
    bool begun_;
    std::string held_;
};

}  // namespace cambrian
