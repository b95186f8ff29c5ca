#include "cambrian/engine/text/split_rules.hpp"

#include <algorithm>
#include <array>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"

namespace cambrian {
namespace {

using unicode::Character;
using unicode::character_at;

/// Whether a character is of none of some classes (and there is one).
bool is_none(const Character& character, unicode::Classes classes) {
    return character.length > 0 && (unicode::classes(character.code) & classes) == 0;
}
bool is_any(const Character& character, unicode::Classes classes) {
    return character.length > 0 && (unicode::classes(character.code) & classes) != 0;
}
bool is_line_end(const Character& character) {
    return character.length > 0 && (character.code == '\r' || character.code == '\n');
}

/// Where a run of characters ends that a predicate holds for.
template <class Predicate>
std::size_t run_end(std::string_view text, std::size_t at, const Predicate& holds) {
    for (Character next = character_at(text, at); next.length > 0 && holds(next);
         next = character_at(text, at))
        at += next.length;
    return at;
}
std::size_t run_end_of(std::string_view text, std::size_t at, unicode::Classes classes) {
    return run_end(text, at, [&](const Character& next) { return is_any(next, classes); });
}

/// 's|'t|'re|'ve|'m|'ll|'d of the characters after the apostrophe, as lower-case letters.
std::size_t contraction_length(char first, char second) {
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 1;
    const bool two = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                     (first == 'l' && second == 'l');
    return two ? 2 : 0;
}

char letter_at(std::string_view text, std::size_t at) {
    return at < text.size() ? text[at] : '\0';
}

std::size_t contraction(std::string_view text, std::size_t at) {
    if (text[at] != '\'') return at;
    const std::size_t length = contraction_length(letter_at(text, at + 1), letter_at(text, at + 2));
    return length == 0 ? at : at + 1 + length;
}

/// The same for upper-case letters, and for U+017F, which is an s where case is ignored.
std::size_t contraction_of_any_case(std::string_view text, std::size_t at) {
    constexpr std::string_view long_s = "\xC5\xBF";
    if (letter_at(text, at) != '\'') return at;
    if (text.substr(at + 1).starts_with(long_s)) return at + 1 + long_s.size();
    const auto lower = [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    };
    const std::size_t length =
        contraction_length(lower(letter_at(text, at + 1)), lower(letter_at(text, at + 2)));
    return length == 0 ? at : at + 1 + length;
}

/// " ?" and then a run; nothing where the run is empty.
template <class Predicate>
std::size_t spaced_run(std::string_view text, std::size_t at, const Predicate& holds) {
    const std::size_t begin = text[at] == ' ' ? at + 1 : at;
    const std::size_t end = run_end(text, begin, holds);
    return end == begin ? at : end;
}

/// " ?\p{L}+"
std::size_t spaced_letters(std::string_view text, std::size_t at) {
    return spaced_run(text, at,
                      [](const Character& next) { return is_any(next, unicode::letter); });
}
/// " ?\p{N}+"
std::size_t spaced_numbers(std::string_view text, std::size_t at) {
    return spaced_run(text, at,
                      [](const Character& next) { return is_any(next, unicode::number); });
}
/// " ?[^\s\p{L}\p{N}]+"
std::size_t spaced_others(std::string_view text, std::size_t at) {
    return spaced_run(text, at, [](const Character& next) {
        return is_none(next, unicode::space | unicode::letter | unicode::number);
    });
}
/// " ?[^\s\p{L}\p{N}]+[\r\n]*"
std::size_t others_and_lines(std::string_view text, std::size_t at) {
    const std::size_t end = spaced_others(text, at);
    return end == at ? at : run_end(text, end, is_line_end);
}
/// " ?[^\s\p{L}\p{N}]+[\r\n/]*"
std::size_t others_lines_and_slashes(std::string_view text, std::size_t at) {
    const std::size_t end = spaced_others(text, at);
    return end == at ? at : run_end(text, end, [](const Character& next) {
        return is_line_end(next) || next.code == '/';
    });
}

/// "[^\r\n\p{L}\p{N}]", or nothing.
std::size_t after_lead(std::string_view text, std::size_t at) {
    const Character first = character_at(text, at);
    const bool lead = is_none(first, unicode::letter | unicode::number) && !is_line_end(first);
    return lead ? at + first.length : at;
}

/// "[^\r\n\p{L}\p{N}]?\p{L}+"
std::size_t led_letters(std::string_view text, std::size_t at) {
    const std::size_t begin = after_lead(text, at);
    const std::size_t end = run_end_of(text, begin, unicode::letter);
    return end == begin ? at : end;
}

/// "[heads]*[tails]+": the heads give characters back, the last first, until a tail follows.
std::size_t heads_then_tail(std::string_view text, std::size_t at) {
    std::size_t last_tail = text.size();
    std::size_t end = at;
    for (Character next = character_at(text, end); is_any(next, unicode::head);
         next = character_at(text, end)) {
        if (is_any(next, unicode::tail)) last_tail = end;
        end += next.length;
    }
    const std::size_t after = run_end_of(text, end, unicode::tail);
    if (after > end) return after;
    return last_tail == text.size() ? at : last_tail + character_at(text, last_tail).length;
}
/// "[heads]+[tails]*"
std::size_t head_then_tails(std::string_view text, std::size_t at) {
    const std::size_t end = run_end_of(text, at, unicode::head);
    return end == at ? at : run_end_of(text, end, unicode::tail);
}

/// "[^\r\n\p{L}\p{N}]?" and then a word; the lead is given back where no word follows it.
std::size_t led(std::string_view text, std::size_t at, SplitAlternative word) {
    const std::size_t begin = after_lead(text, at);
    const std::size_t end = begin < text.size() ? word(text, begin) : begin;
    if (end > begin) return end;
    return begin == at ? at : word(text, at);
}
std::size_t led_lower_word(std::string_view text, std::size_t at) {
    return led(text, at, heads_then_tail);
}
std::size_t led_upper_word(std::string_view text, std::size_t at) {
    return led(text, at, head_then_tails);
}
std::size_t lower_word_and_contraction(std::string_view text, std::size_t at) {
    const std::size_t end = led_lower_word(text, at);
    return end == at ? at : contraction_of_any_case(text, end);
}
std::size_t upper_word_and_contraction(std::string_view text, std::size_t at) {
    const std::size_t end = led_upper_word(text, at);
    return end == at ? at : contraction_of_any_case(text, end);
}

/// "\p{N}{1,Most}"
template <int Most>
std::size_t numbers(std::string_view text, std::size_t at) {
    int left = Most;
    return run_end(text, at, [&](const Character& next) {
        return is_any(next, unicode::number) && left-- > 0;
    });
}

/// "\s*[\r\n]+": white space to its last line end.
std::size_t spaces_to_line_end(std::string_view text, std::size_t at) {
    std::size_t end = at;
    for (Character next = character_at(text, at); is_any(next, unicode::space);
         next = character_at(text, at)) {
        at += next.length;
        if (is_line_end(next)) end = at;
    }
    return end;
}
/// "\s+(?!\S)": white space to the end of the text, or but for its last character.
std::size_t spaces_before_space(std::string_view text, std::size_t at) {
    const std::size_t end = run_end_of(text, at, unicode::space);
    if (end == at || end == text.size()) return end;
    return end - unicode::character_before(text, end).length;
}
/// "\s+"
std::size_t spaces(std::string_view text, std::size_t at) {
    return run_end_of(text, at, unicode::space);
}

constexpr std::array<SplitAlternative, 6> gpt2{contraction,   spaced_letters,      spaced_numbers,
                                               spaced_others, spaces_before_space, spaces};
constexpr std::array<SplitAlternative, 7> gpt4{
    contraction_of_any_case, led_letters,         numbers<3>, others_and_lines,
    spaces_to_line_end,      spaces_before_space, spaces};
constexpr std::array<SplitAlternative, 7> qwen{
    contraction_of_any_case, led_letters,         numbers<1>, others_and_lines,
    spaces_to_line_end,      spaces_before_space, spaces};
constexpr std::array<SplitAlternative, 7> gpt4o{
    lower_word_and_contraction, upper_word_and_contraction, numbers<3>, others_lines_and_slashes,
    spaces_to_line_end,         spaces_before_space,        spaces};
constexpr std::array<SplitAlternative, 7> tekken{
    led_lower_word,     led_upper_word,      numbers<1>, others_lines_and_slashes,
    spaces_to_line_end, spaces_before_space, spaces};

constexpr std::array<SplitRule, 5> rules{{
    {"GPT-2", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     gpt2},
    {"GPT-4 and Llama 3",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     gpt4},
    {"Qwen 2 and 3",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     qwen},
    {"GPT-4o and gpt-oss",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     gpt4o},
    {"Mistral's Tekken",
     R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     tekken},
}};

}  // namespace

std::size_t SplitRule::end(std::string_view text, std::size_t at) const {
    for (const SplitAlternative alternative : alternatives)
        if (const std::size_t found = alternative(text, at); found > at) return found;
    CAMBRIAN_ASSERT(false);
    return text.size();
}

std::span<const SplitRule> split_rules() {
    return rules;
}

const SplitRule& gpt2_rule() {
    return rules.front();
}

const SplitRule* find_split_rule(std::string_view pattern) {
    const auto found = std::ranges::find(rules, pattern, &SplitRule::pattern);
    return found == rules.end() ? nullptr : &*found;
}

}  // namespace cambrian
