#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/text/chat/chat_template.hpp"
#include "cambrian/engine/text/tokenizer_json.hpp"
#include "cambrian/engine/text/training/tokenizer_training.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/input_text.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {
namespace {

/// Numbers with white space, commas or brackets between them.
std::vector<std::int64_t> parse_ids(std::string_view text, const std::string& source) {
    constexpr std::string_view gaps = " \t\r\n,[]";
    std::vector<std::int64_t> ids;
    for (std::size_t at = text.find_first_not_of(gaps); at != std::string_view::npos;
         at = text.find_first_not_of(gaps, at)) {
        const std::size_t end = std::min(text.find_first_of(gaps, at), text.size());
        const std::string_view word = text.substr(at, end - at);
        std::int64_t id = 0;
        const auto [read, error] = std::from_chars(word.data(), word.data() + word.size(), id);
        if (error != std::errc() || read != word.data() + word.size())
            throw InputError(
                fmt::format("{} has \"{}\" (ids are whole numbers) leave out "
                            "--decode to encode a text",
                            source, shortened(word, 40)));
        ids.push_back(id);
        at = end;
    }
    return ids;
}

std::string ids_as_asked(const Tokenizer& tokenizer, const std::vector<std::int64_t>& ids,
                         TokenForm form) {
    if (form == TokenForm::ids) return fmt::format("{}\n", fmt::join(ids, " "));
    if (form == TokenForm::json) {
        Json names = Json::array();
        for (const std::int64_t id : ids) names.push_back(tokenizer.token(id));
        return Json{{"count", ids.size()}, {"ids", ids}, {"tokens", std::move(names)}}.dump() +
               '\n';
    }
    std::string text;
    for (const std::int64_t id : ids)
        text += fmt::format("{}\t{}\n", id, Json(tokenizer.token(id)).dump());
    return text;
}

TokenizerDefinition trained(const TokenizeOptions& options,
                            std::span<const std::string_view> texts) {
    if (options.kind == "byte") return byte_tokenizer(options.special);
    if (options.kind == "character") return character_tokenizer(texts, options.special);
    return train_byte_pairs(
        texts, {.vocabulary = options.vocabulary.value_or(TokenizerTraining{}.vocabulary),
                .min_count = options.min_count.value_or(TokenizerTraining{}.min_count),
                .special = options.special});
}

int train_tokenizer(const CommandContext& context, const TokenizeOptions& options) {
    if (options.output.empty())
        throw ConfigError("--train has no place to write to (a tokenizer.json) add -o FILE");
    if (options.kind != "bpe" && (options.vocabulary || options.min_count))
        throw ConfigError(fmt::format(
            "--vocabulary or --min-count is given (--kind {} has a token for each {}) leave it "
            "out",
            options.kind, options.kind));
    Destination output(context, options.output, options.train);
    std::vector<std::string> texts;
    for (const std::string& path : options.train) texts.push_back(read_text(path));
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    // Checks it as a reader would.
    const Tokenizer tokenizer(trained(options, views), options.output);
    output.write(tokenizer_json(tokenizer.definition()));
    output.finish();
    context.err << fmt::format("{}: {} tokens, {} merges\n", output.name(), tokenizer.size(),
                               tokenizer.definition().merges.size());
    const std::int64_t asked = options.vocabulary.value_or(TokenizerTraining{}.vocabulary);
    if (options.kind == "bpe" && tokenizer.size() < asked)
        context.err << fmt::format(
            "fewer than {} tokens: no other pair stands {} times in the texts\n", asked,
            options.min_count.value_or(TokenizerTraining{}.min_count));
    return exit_done;
}

/// What a text or a chat, read from `source`, is made into. Throws as its readers.
std::string result_of(const TokenizeOptions& options, std::string text, const std::string& source) {
    const ChatTemplate* const family =
        options.chat.empty() ? nullptr : &find_chat_template(options.chat_template);
    if (family != nullptr)
        text = family->render(parse_chat(text, source),
                              options.prompt ? GenerationPrompt::yes : GenerationPrompt::no);
    if (options.tokenizer.empty()) {
        if (family == nullptr)
            throw ConfigError("there is no tokenizer (--tokenizer names it) add it");
        return text;
    }
    const Tokenizer tokenizer = read_tokenizer(options.tokenizer);
    if (options.decode) {
        const auto special = options.show_special ? SpecialTokens::show : SpecialTokens::leave_out;
        return tokenizer.decode(parse_ids(text, source), special);
    }
    const Surround surround = options.bare ? Surround::no : Surround::yes;
    return ids_as_asked(
        tokenizer,
        family != nullptr ? family->encode(text, tokenizer) : tokenizer.encode(text, surround),
        options.form);
}

}  // namespace

int tokenize_command(const CommandContext& context, const TokenizeOptions& options) {
    if (!options.train.empty()) return train_tokenizer(context, options);
    const std::string& source = options.chat.empty() ? options.input : options.chat;
    if (source.empty())
        throw ConfigError(
            "there is nothing to tokenize (no file is named) name one, or - for "
            "standard input");
    Destination output(context, options.output, {source, options.tokenizer, options.chat_template});
    output.write(result_of(options, read_text(source), source));
    output.finish();
    return exit_done;
}

}  // namespace cambrian::launch
