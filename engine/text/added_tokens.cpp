#include "cambrian/engine/text/added_tokens.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"

namespace cambrian {
namespace {

using unicode::Character;

bool is_class(const Character& character, unicode::Classes classes) {
    return character.length > 0 && (unicode::classes(character.code) & classes) != 0;
}

/// Whether no character of words stands beside a part of a text.
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
    return !is_class(unicode::character_before(text, begin), unicode::word) &&
           !is_class(unicode::character_at(text, end), unicode::word);
}

/// Where the white space begins that ends at a place, not before another.
std::size_t before_space(std::string_view text, std::size_t at, std::size_t least) {
    while (at > least) {
        const Character last = unicode::character_before(text, at);
        if (!is_class(last, unicode::space)) break;
        at -= last.length;
    }
    return at;
}
std::size_t after_space(std::string_view text, std::size_t at) {
    for (Character next = unicode::character_at(text, at); is_class(next, unicode::space);
         next = unicode::character_at(text, at))
        at += next.length;
    return at;
}

unsigned char byte_of(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

}  // namespace

AddedTokens::AddedTokens(std::span<const AddedToken* const> tokens,
                         std::vector<std::string> texts) {
    CAMBRIAN_EXPECT(tokens.size() == texts.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (texts[i].empty()) continue;
        begins_[byte_of(texts[i], 0)] = true;
        entries_.push_back({std::move(texts[i]), tokens[i]});
    }
    std::ranges::stable_sort(entries_, {}, &Entry::text);
}

/// Of the sorted entries those remain that agree with the text up to a depth.
const AddedTokens::Entry* AddedTokens::longest_at(std::string_view text, std::size_t at) const {
    auto begin = entries_.begin();
    auto end = entries_.end();
    const Entry* best = nullptr;
    for (std::size_t depth = 0; begin != end; ++depth) {
        if (begin->text.size() == depth) best = &*begin;
        if (at + depth == text.size()) break;
        const unsigned char wanted = byte_of(text, at + depth);
        begin = std::partition_point(begin, end, [&](const Entry& entry) {
            return entry.text.size() <= depth || byte_of(entry.text, depth) < wanted;
        });
        end = std::partition_point(
            begin, end, [&](const Entry& entry) { return byte_of(entry.text, depth) == wanted; });
    }
    return best;
}

void AddedTokens::search(std::string_view text,
                         const std::function<void(const TextPiece&)>& found) const {
    std::size_t given = 0;      // All before it was given.
    std::size_t space_end = 0;  // Of the white space that was looked through last.
    std::size_t at = 0;
    while (!entries_.empty() && at < text.size()) {
        const Entry* entry = begins_[byte_of(text, at)] ? longest_at(text, at) : nullptr;
        if (entry == nullptr) {
            ++at;
            continue;
        }
        const AddedToken& token = *entry->token;
        const std::size_t match = at;
        at += entry->text.size();
        if (token.single_word && !stands_alone(text, match, at)) continue;
        if (token.rstrip && at >= space_end) space_end = after_space(text, at);
        const std::size_t begin = token.lstrip ? before_space(text, match, given) : match;
        const std::size_t end = token.rstrip ? space_end : at;
        // A match may begin within white space that the token before it took: it is given all the
        // same, and what it leaves of the space, unless it wants that space, as in the original.
        if (begin > given) found({text.substr(given, begin - given), nullptr});
        if (!token.lstrip || end > std::max(begin, given))
            found({text.substr(match, at - match), &token});
        given = end;
    }
    if (given < text.size()) found({text.substr(given), nullptr});
}

}  // namespace cambrian
