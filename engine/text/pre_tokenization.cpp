#include "cambrian/engine/text/pre_tokenization.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/text/split_rules.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"

namespace cambrian {
namespace {

/// A part of a word, and whether a pattern matched it.
struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool match = false;
};
using Parts = std::vector<Part>;

Parts parts_by_rule(const SplitRule& rule, std::string_view text) {
    Parts parts;
    for (std::size_t at = 0; at < text.size(); at = parts.back().end)
        parts.push_back({at, rule.end(text, at), true});
    return parts;
}

void add_part(Parts& parts, std::size_t begin, std::size_t end, bool match) {
    if (end > begin) parts.push_back({begin, end, match});
}

Parts parts_by_text(std::string_view pattern, std::string_view text) {
    Parts parts;
    std::size_t at = 0;
    for (std::size_t found = text.find(pattern); found != std::string_view::npos;
         found = text.find(pattern, at)) {
        add_part(parts, at, found, false);
        at = found + pattern.size();
        add_part(parts, found, at, true);
    }
    add_part(parts, at, text.size(), false);
    return parts;
}

Parts parts_by_digit(std::string_view text) {
    Parts parts;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const unicode::Character next = unicode::character_at(text, at);
        const std::size_t end = at + next.length;
        if ((unicode::classes(next.code) & unicode::number) != 0) {
            add_part(parts, begin, at, false);
            add_part(parts, at, end, true);
            begin = end;
        }
        at = end;
    }
    add_part(parts, begin, text.size(), false);
    return parts;
}

/// Parts of equal kind that stand beside each other, as one.
Parts contiguous(const Parts& parts) {
    Parts result;
    for (const Part& part : parts) {
        if (!result.empty() && result.back().match == part.match)
            result.back().end = part.end;
        else
            result.push_back(part);
    }
    return result;
}

/// A match belongs to what is before it, unless that is a match.
Parts merged_with_previous(const Parts& parts) {
    Parts result;
    bool after_match = false;
    for (const Part& part : parts) {
        if (part.match && !after_match && !result.empty())
            result.back().end = part.end;
        else
            result.push_back(part);
        after_match = part.match;
    }
    return result;
}

/// A match belongs to what is after it, unless that is a match.
Parts merged_with_next(const Parts& parts) {
    Parts result;
    bool before_match = false;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->match && !before_match && !result.empty())
            result.back().begin = part->begin;
        else
            result.push_back(*part);
        before_match = part->match;
    }
    std::ranges::reverse(result);
    return result;
}

Parts behave(Parts parts, SplitBehavior behavior) {
    if (behavior == SplitBehavior::removed)
        std::erase_if(parts, [](const Part& part) { return part.match; });
    if (behavior == SplitBehavior::contiguous) return contiguous(parts);
    if (behavior == SplitBehavior::merged_with_previous) return merged_with_previous(parts);
    if (behavior == SplitBehavior::merged_with_next) return merged_with_next(parts);
    return parts;
}

/// Cuts every word into parts.
template <class PartsOf>
void cut(Words& words, const PartsOf& parts_of) {
    std::vector<std::string_view> result;
    for (const std::string_view word : words.list)
        for (const Part& part : parts_of(word))
            result.push_back(word.substr(part.begin, part.end - part.begin));
    words.list = std::move(result);
}

/// Runs one pre-tokenizer.
class Step {
  public:
    Step(Words& words, const char* beginning) : words_(words), beginning_(beginning) {}

    void operator()(const ByteLevelPreTokenizer& step) const {
        if (step.add_prefix_space)
            for (std::string_view& word : words_.list)
                if (!word.starts_with(' ')) word = keep(" " + std::string(word));
        if (step.use_regex)
            cut(words_, [](std::string_view word) { return parts_by_rule(gpt2_rule(), word); });
    }
    void operator()(const SplitPreTokenizer& step) const {
        const SplitRule* rule = step.regex ? find_split_rule(step.pattern) : nullptr;
        cut(words_, [&](std::string_view word) {
            Parts parts =
                rule != nullptr ? parts_by_rule(*rule, word) : parts_by_text(step.pattern, word);
            if (step.invert)
                for (Part& part : parts) part.match = !part.match;
            return behave(std::move(parts), step.behavior);
        });
    }
    void operator()(const DigitsPreTokenizer& step) const {
        const SplitBehavior behavior =
            step.individual_digits ? SplitBehavior::isolated : SplitBehavior::contiguous;
        cut(words_, [&](std::string_view word) { return behave(parts_by_digit(word), behavior); });
    }
    void operator()(const MetaspacePreTokenizer& step) {
        for (std::string_view& word : words_.list) {
            const bool first = word.data() == beginning_;  // A Split may have taken it away.
            std::string text = replaced(word, " ", step.replacement);
            const bool prepend = step.prepend_scheme == PrependScheme::always ||
                                 (step.prepend_scheme == PrependScheme::first && first);
            if (prepend && !text.starts_with(step.replacement)) text = step.replacement + text;
            word = keep(std::move(text));
            if (first) beginning_ = word.data();
        }
        if (step.split)
            cut(words_, [&](std::string_view word) {
                return merged_with_next(parts_by_text(step.replacement, word));
            });
    }

  private:
    [[nodiscard]] std::string_view keep(std::string text) const {
        return words_.owned.emplace_back(std::move(text));
    }

    Words& words_;
    const char* beginning_;  ///< Of the whole text, if it is in this piece.
};

struct Normalization {
    std::string text;

    void operator()(const NfcNormalizer&) { text = unicode::composed(text); }
    void operator()(const PrependNormalizer& step) {
        if (!text.empty()) text = step.prepend + text;
    }
    void operator()(const ReplaceNormalizer& step) {
        text = replaced(text, step.pattern, step.content);
    }
};

bool is_one_character(std::string_view text) {
    return !text.empty() && unicode::character_at(text, 0).length == text.size();
}

/// Whether the first character after a normalizer may not be of the first one before it.
bool moves_beginning(const Normalizer& step) {
    if (const auto* replace = std::get_if<ReplaceNormalizer>(&step))
        return !is_one_character(replace->pattern) || !is_one_character(replace->content);
    return std::holds_alternative<PrependNormalizer>(step);
}

bool asks_for_beginning(const PreTokenizer& step) {
    const auto* metaspace = std::get_if<MetaspacePreTokenizer>(&step);
    return metaspace != nullptr && metaspace->prepend_scheme == PrependScheme::first;
}

}  // namespace

void check_pre_tokenizers(const TokenizerDefinition& definition, std::string_view source) {
    if (std::ranges::any_of(definition.pre_tokenizers, asks_for_beginning) &&
        std::ranges::any_of(definition.normalizers, moves_beginning))
        throw InputError(fmt::format(
            "{} has Metaspace with prepend_scheme first after Prepend or Replace (which move the "
            "beginning of a text) use a tokenizer with one of them",
            source));
    for (const PreTokenizer& step : definition.pre_tokenizers) {
        const auto* split = std::get_if<SplitPreTokenizer>(&step);
        if (split == nullptr || !split->regex || find_split_rule(split->pattern) != nullptr)
            continue;
        std::string known;
        for (const SplitRule& rule : split_rules())
            known += (known.empty() ? "" : ", ") + std::string(rule.name);
        throw InputError(fmt::format(
            "{} cuts words by an expression that is not known, {} (only those of {} are) use a "
            "tokenizer with one of them",
            source, shortened(split->pattern), known));
    }
}

Words pre_tokenize(std::span<const PreTokenizer> pre_tokenizers, std::string_view piece,
                   bool begins) {
    Words words;
    if (piece.empty()) return words;
    words.list.push_back(piece);
    Step run(words, begins ? piece.data() : nullptr);
    for (const PreTokenizer& step : pre_tokenizers) std::visit(run, step);
    return words;
}

std::string normalize(std::span<const Normalizer> normalizers, std::string_view text) {
    // Several replacements could each make a text many times as long.
    const std::size_t longest = 16 * text.size() + 1024;
    Normalization result{std::string(text)};
    for (const Normalizer& step : normalizers) {
        std::visit(result, step);
        if (result.text.size() > longest)
            throw InputError("the tokenizer's normalizers make a text of " +
                             std::to_string(text.size()) + " bytes one of " +
                             std::to_string(result.text.size()) +
                             " (16 times as many are the most) use another tokenizer");
    }
    return std::move(result.text);
}

std::string replaced(std::string_view text, std::string_view pattern, std::string_view content) {
    std::string result;
    std::size_t at = 0;
    for (std::size_t found = text.find(pattern); found != std::string_view::npos;
         found = text.find(pattern, at)) {
        result += text.substr(at, found - at);
        result += content;
        at = found + pattern.size();
    }
    result += text.substr(at);
    return result;
}

}  // namespace cambrian
