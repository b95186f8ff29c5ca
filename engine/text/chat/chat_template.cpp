#include "cambrian/engine/text/chat/chat_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/text/tokenizer_definition.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"

namespace cambrian {
namespace {

using System = ChatTemplate::System;

constexpr std::array<ChatTemplate, 7> templates{{
    {
        .name = "chatml",
        .system = {"<|im_start|>system\n", "<|im_end|>\n"},
        .user = {"<|im_start|>user\n", "<|im_end|>\n"},
        .assistant = {"<|im_start|>assistant\n", "<|im_end|>\n"},
        .prompt = "<|im_start|>assistant\n",
        .tokens = {"<|im_start|>", "<|im_end|>"},
    },
    {.name = "llama2",
     .system = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
     .user = {"<s>[INST] ", " [/INST]"},
     .assistant = {" ", " </s>"},
     .place = System::inside_first_user,
     .trims = true,
     .alternates = true,
     .bos = "<s>",
     .eos = "</s>",
     .tokens = {"<s>", "</s>"}},
    {.name = "llama3",
     .begin = "<|begin_of_text|>",
     .system = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>"},
     .user = {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>"},
     .assistant = {"<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"},
     .prompt = "<|start_header_id|>assistant<|end_header_id|>\n\n",
     .trims = true,
     .bos = "<|begin_of_text|>",
     .tokens = {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}},
    {.name = "gemma",
     .begin = "<bos>",
     .system = {"", "\n\n"},
     .user = {"<start_of_turn>user\n", "<end_of_turn>\n"},
     .assistant = {"<start_of_turn>model\n", "<end_of_turn>\n"},
     .prompt = "<start_of_turn>model\n",
     .place = System::before_first_user,
     .trims = true,
     .alternates = true,
     .bos = "<bos>",
     .tokens = {"<bos>", "<start_of_turn>", "<end_of_turn>"}},
    {.name = "phi3",
     .system = {"<|system|>\n", "<|end|>\n"},
     .user = {"<|user|>\n", "<|end|>\n"},
     .assistant = {"<|assistant|>\n", "<|end|>\n"},
     .prompt = "<|assistant|>\n",
     .end = "<|endoftext|>",
     .eos = "<|endoftext|>",
     .tokens = {"<|user|>", "<|assistant|>", "<|end|>"}},
    {.name = "mistral",
     .begin = "<s>",
     .user = {"[INST] ", " [/INST]"},
     .assistant = {"", "</s>"},
     .place = System::refused,
     .alternates = true,
     .bos = "<s>",
     .eos = "</s>",
     .tokens = {"<s>", "</s>"}},
    {.name = "zephyr",
     .system = {"<|system|>\n", "</s>\n"},
     .user = {"<|user|>\n", "</s>\n"},
     .assistant = {"<|assistant|>\n", "</s>\n"},
     .prompt = "<|assistant|>\n",
     .eos = "</s>",
     .tokens = {"</s>"}},
}};

std::string_view trimmed(std::string_view text) {
    std::size_t begin = 0;
    std::size_t end = text.size();
    const auto is_space = [](char32_t code) {
        // What Python's strip() takes away, too, are the four separators of ASCII.
        return (unicode::classes(code) & unicode::space) != 0 || (code >= 0x1C && code <= 0x1F);
    };
    while (begin < end && is_space(unicode::character_at(text, begin).code))
        begin += unicode::character_at(text, begin).length;
    while (end > begin && is_space(unicode::character_before(text, end).code))
        end -= unicode::character_before(text, end).length;
    return text.substr(begin, end - begin);
}

[[noreturn]] void refuse_order(const ChatTemplate& family, std::string_view why) {
    throw InputError(fmt::format("the chat does not fit the template {} ({}) change its messages",
                                 family.name, why));
}

void check_order(const ChatTemplate& family, std::span<const ChatMessage> messages) {
    const bool has_system = !messages.empty() && messages.front().role == ChatRole::system;
    if (has_system && family.place == System::refused)
        refuse_order(family, "it has no message of the system");
    const bool within = family.place != System::own_turn;
    if (has_system && within && messages.size() == 1)
        refuse_order(family, "the message of the system stands in the first one of the user");
    for (std::size_t i = has_system ? 1 : 0; i < messages.size(); ++i) {
        if (messages[i].role == ChatRole::system && within)
            refuse_order(family, "only the first message is of the system");
        const bool user_speaks = (i - (has_system ? 1 : 0)) % 2 == 0;
        if (family.alternates && (messages[i].role == ChatRole::user) != user_speaks)
            refuse_order(family, "user and assistant speak in turn, the user first");
    }
}

}  // namespace

std::string ChatTemplate::render(std::span<const ChatMessage> messages,
                                 GenerationPrompt wanted) const {
    check_order(*this, messages);
    std::string text(begin);
    std::string pending;  // The message of the system, for the first one of the user.
    for (const ChatMessage& message : messages) {
        std::string content(message.content);
        if (message.role == ChatRole::system && place != System::own_turn) {
            pending = std::string(system.before) + content + std::string(system.after);
            continue;
        }
        if (place == System::inside_first_user) content = pending + content;
        if (trims) content = trimmed(content);
        if (place == System::before_first_user) content = pending + content;
        pending.clear();
        const Turn& turn = message.role == ChatRole::system ? system
                           : message.role == ChatRole::user ? user
                                                            : assistant;
        text += turn.before;
        text += content;
        text += turn.after;
    }
    text += wanted == GenerationPrompt::yes ? prompt : end;
    return text;
}

std::vector<std::int64_t> ChatTemplate::encode(std::string_view rendered,
                                               const Tokenizer& tokenizer) const {
    // A token of the vocabulary alone is made by merges, if at all.
    const std::vector<AddedToken>& added = tokenizer.definition().added;
    for (const std::string_view token : tokens)
        if (!token.empty() && std::ranges::find(added, token, &AddedToken::content) == added.end())
            throw InputError(fmt::format(
                "the tokenizer has no special token {} (the template {} marks messages with it, "
                "which would be read as plain text) name the template of the model with --template",
                token, name));
    return tokenizer.encode(rendered, Surround::no);
}

std::span<const ChatTemplate> chat_templates() {
    return templates;
}

const ChatTemplate& chat_template(std::string_view name) {
    const auto found = std::ranges::find(templates, name, &ChatTemplate::name);
    if (found != templates.end()) return *found;
    std::vector<std::string_view> names;
    for (const ChatTemplate& family : templates) names.push_back(family.name);
    throw ConfigError(fmt::format("there is no chat template \"{}\" (known: {}) {}",
                                  shortened(name, 40), joined(names), nearest_hint(name, names)));
}

}  // namespace cambrian
