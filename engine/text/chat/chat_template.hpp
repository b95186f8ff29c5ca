#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/text/tokenizer.hpp"

namespace cambrian {

enum class ChatRole { system, user, assistant };

struct ChatMessage {
    ChatRole role = ChatRole::user;
    std::string content;
};

/// Whether a rendered chat ends where the assistant begins to speak.
enum class GenerationPrompt { no, yes };

/// How a family of models writes a chat as one text. Marks are special tokens by their names.
struct ChatTemplate {
    struct Turn {
        std::string_view before;
        std::string_view after;
    };
    /// Where the message of the system stands, which comes first.
    enum class System { own_turn, before_first_user, inside_first_user, refused };

    std::string_view name;
    std::string_view begin{};  ///< Before everything.
    Turn system{};
    Turn user{};
    Turn assistant{};
    std::string_view prompt{};  ///< Where the assistant begins to speak.
    std::string_view end{};     ///< After everything, where it does not.
    System place = System::own_turn;
    bool trims = false;       ///< White space around messages is taken away.
    bool alternates = false;  ///< User and assistant speak in turn, the user first.
    std::string_view bos{};   ///< Of the names above, that for the start of a text.
    std::string_view eos{};   ///< That for its end.
    /// Of the names above, those that a tokenizer of the family has as tokens; empty after the
    /// last.
    std::array<std::string_view, 4> tokens{};

    /// Throws InputError for messages that the family does not know, or not in this order.
    [[nodiscard]] std::string render(std::span<const ChatMessage> messages,
                                     GenerationPrompt prompt) const;
    /// The ids of a text that render() gave: it has its own tokens for its start. Throws InputError
    /// where the tokenizer lacks one of `tokens`, which would be read as plain text.
    [[nodiscard]] std::vector<std::int64_t> encode(std::string_view rendered,
                                                   const Tokenizer& tokenizer) const;
};

[[nodiscard]] std::span<const ChatTemplate> chat_templates();
/// By name; throws ConfigError that names the nearest.
[[nodiscard]] const ChatTemplate& chat_template(std::string_view name);
/// The family whose published template a tokenizer_config.json holds (in Jinja, which is compared,
/// not run). Throws InputError, which begins with `source`, for any other.
[[nodiscard]] const ChatTemplate& recognized_chat_template(std::string_view tokenizer_config,
                                                           std::string_view source);
/// A name, or the path of a tokenizer_config.json.
[[nodiscard]] const ChatTemplate& find_chat_template(const std::string& name_or_path);

/// Messages of a JSON text: a list of {"role": "user", "content": "Hello"}. Throws InputError that
/// begins with `source`.
[[nodiscard]] std::vector<ChatMessage> parse_chat(std::string_view json, std::string_view source);

}  // namespace cambrian
