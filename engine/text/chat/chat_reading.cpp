#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/text/chat/chat_template.hpp"
#include "cambrian/engine/text/pre_tokenization.hpp"

// Chats and the names of their templates, from JSON.
namespace cambrian {
namespace {

using nlohmann::json;

/// Of the text of a published template, with line ends in place of "\n" within its texts.
struct PublishedTemplate {
    std::uint64_t hash = 0;
    std::string_view family;
};
constexpr std::array<PublishedTemplate, 7> published{{
    {0xA04F41D813A07B13, "chatml"},
    {0xCB7C5112DFC4A3B0, "llama2"},   // Llama-2-7b-chat-hf
    {0x9799AD6E2DEA0594, "llama3"},   // Meta-Llama-3-8B-Instruct
    {0x6D23022EB1773ED6, "gemma"},    // gemma-3-4b-it
    {0x82FC89C04C54BA66, "phi3"},     // Phi-3-mini-4k-instruct
    {0xA5D004210EBCE758, "mistral"},  // Mistral-7B-Instruct-v0.2
    {0x1DB34E9FC60441D8, "zephyr"},   // zephyr-7b-beta
}};

std::uint64_t hash_of(std::string_view jinja) {
    const std::string text = replaced(jinja, "\\n", "\n");
    return hash64(std::as_bytes(std::span(text)));
}

json checked_json(std::string_view text, std::string_view source) {
    if (const auto fault = json_text::fault(text))
        throw InputError(
            fmt::format("{} is no JSON that can be read ({}) write it again or name "
                        "another file",
                        source, fault->why));
    return json::parse(text);
}

/// "<s>", or {"content": "<s>", ..}; empty where there is none.
std::string token_name(const json& config, const char* key) {
    const auto found = config.find(key);
    if (found == config.end()) return {};
    const json& value =
        found->is_object() && found->contains("content") ? (*found)["content"] : *found;
    return value.is_string() ? value.get<std::string>() : std::string();
}

void require_token(const json& config, const char* key, std::string_view wanted,
                   std::string_view source) {
    const std::string held = token_name(config, key);
    if (!wanted.empty() && held != wanted)
        throw InputError(fmt::format(
            "{} has the {} \"{}\" (the template that it holds is known with \"{}\") name a "
            "template by --template",
            source, key, shortened(held, 40), wanted));
}

}  // namespace

const ChatTemplate& recognized_chat_template(std::string_view tokenizer_config,
                                             std::string_view source) {
    const json config = checked_json(tokenizer_config, source);
    const auto jinja = config.is_object() ? config.find("chat_template") : config.end();
    if (jinja == config.end() || !jinja->is_string())
        throw InputError(
            fmt::format("{} has no chat_template of text (its model may be none for "
                        "chats) name a template: --template chatml",
                        source));
    const std::uint64_t hash = hash_of(jinja->get_ref<const std::string&>());
    for (const PublishedTemplate& row : published) {
        if (row.hash != hash) continue;
        const ChatTemplate& family = chat_template(row.family);
        require_token(config, "bos_token", family.bos, source);
        require_token(config, "eos_token", family.eos, source);
        return family;
    }
    throw InputError(fmt::format(
        "{} has a chat_template that is not known (it is compared with those of known families, "
        "since templates are not run here) name the family if you know it: --template chatml",
        source));
}

const ChatTemplate& find_chat_template(const std::string& name_or_path) {
    constexpr std::uint64_t longest = std::uint64_t{16} << 20U;
    if (!name_or_path.ends_with(".json")) return chat_template(name_or_path);
    const std::vector<std::byte> bytes = read_file(name_or_path, longest);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return recognized_chat_template(text, name_or_path);
}

std::vector<ChatMessage> parse_chat(std::string_view text, std::string_view source) {
    constexpr std::array<std::string_view, 3> roles{"system", "user", "assistant"};
    constexpr std::array<std::string_view, 2> keys{"role", "content"};
    const json list = checked_json(text, source);
    std::vector<ChatMessage> messages;
    try {
        for (std::size_t i = 0; i < json_read::list(list, "messages"); ++i) {
            const std::string path = json_read::element("messages", i);
            json_read::object(list[i], path, keys);
            for (const std::string_view key : keys)
                if (json_read::find(list[i], key) == nullptr)
                    json_read::fail(path, "has no " + std::string(key),
                                    "a message has role and content", "add it");
            const std::size_t role =
                json_read::choice(list[i]["role"], json_read::member(path, "role"), roles);
            messages.push_back(
                {static_cast<ChatRole>(role),
                 json_read::text(list[i]["content"], json_read::member(path, "content"))});
        }
    } catch (const ConfigError& error) {
        throw InputError(fmt::format("{} is no chat: {}", source, error.what()));
    }
    return messages;
}

}  // namespace cambrian
