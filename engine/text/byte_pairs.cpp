#include "cambrian/engine/text/byte_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <tuple>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/text/byte_alphabet.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"

namespace cambrian {
BytePairs::BytePairs(const TokenizerDefinition& definition, bool bytes, std::string_view source)
    : definition_(definition), bytes_(bytes) {
    std::vector<TokenIndex::Entry> entries;
    entries.reserve(definition.vocabulary.size());
    for (const VocabularyEntry& entry : definition.vocabulary)
        entries.push_back({entry.token, static_cast<std::uint32_t>(entry.id)});
    index_ = TokenIndex(entries);
    if (const auto token = index_.repeated())
        refuse_definition(source, fmt::format("the token \"{}\" stands twice in its vocabulary",
                                              shortened(*token)));
    if (definition.unknown_token) {
        const auto id = find(*definition.unknown_token);
        if (!id)
            refuse_definition(source, fmt::format("its unk_token \"{}\" is not in its vocabulary",
                                                  shortened(*definition.unknown_token)));
        unknown_ = *id;
    }
    read_symbols(source);
    read_merges(definition, source);
}

void BytePairs::read_symbols(std::string_view source) {
    byte_ids_.fill(none);
    if (!bytes_ && !definition_.byte_fallback) return;
    for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte) {
        const std::string name =
            bytes_ ? std::string(byte_alphabet::text_of(static_cast<std::uint8_t>(byte)))
                   : fmt::format("<0x{:02X}>", byte);
        if (const auto id = find(name)) byte_ids_[byte] = *id;
        if (definition_.byte_fallback && byte_ids_[byte] == none)
            refuse_definition(source, fmt::format("byte_fallback, but no token \"{}\"", name));
    }
}

void BytePairs::read_merges(const TokenizerDefinition& definition, std::string_view source) {
    const auto id_of = [&](const std::string& token, std::size_t rank) {
        const auto id = find(token);
        if (!id)
            refuse_definition(source,
                              fmt::format("merge {} needs the token \"{}\", which is not in its "
                                          "vocabulary",
                                          rank, shortened(token)));
        return *id;
    };
    struct Row {
        std::uint32_t left = 0;
        Merge merge;
    };
    std::vector<Row> rows;
    rows.reserve(definition.merges.size());
    for (std::size_t rank = 0; rank < definition.merges.size(); ++rank) {
        const TokenMerge& merge = definition.merges[rank];
        rows.push_back({id_of(merge.left, rank),
                        {id_of(merge.right, rank), static_cast<std::uint32_t>(rank),
                         id_of(merge.left + merge.right, rank)}});
    }
    // Of a pair that stands twice the last one counts, as in the reference.
    std::ranges::sort(rows, [](const Row& a, const Row& b) {
        return std::tie(a.left, a.merge.right, b.merge.rank) <
               std::tie(b.left, b.merge.right, a.merge.rank);
    });
    const auto repeated = std::ranges::unique(rows, [](const Row& a, const Row& b) {
        return a.left == b.left && a.merge.right == b.merge.right;
    });
    rows.erase(repeated.begin(), repeated.end());

    std::uint32_t largest = 0;
    for (const Row& row : rows) largest = std::max(largest, row.left);
    begins_.assign(std::size_t{largest} + 2, 0);
    for (const Row& row : rows) {
        ++begins_[std::size_t{row.left} + 1];
        merges_.push_back(row.merge);
    }
    for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
}

const BytePairs::Merge* BytePairs::find(std::uint32_t left, std::uint32_t right) const {
    if (std::size_t{left} + 1 >= begins_.size()) return nullptr;
    const auto begin = merges_.begin() + begins_[left];
    const auto end = merges_.begin() + begins_[left + 1];
    const auto found = std::lower_bound(
        begin, end, right, [](const Merge& merge, std::uint32_t id) { return merge.right < id; });
    return found == end || found->right != right ? nullptr : &*found;
}

BytePairs::Encoder::Encoder(const BytePairs& pairs, std::size_t text_length) : pairs_(pairs) {
    constexpr std::size_t most = std::size_t{1} << 15U;
    known_.resize(std::clamp(std::bit_ceil(text_length / 16), std::size_t{16}, most));
}

void BytePairs::Encoder::add(std::string_view word, std::vector<std::int64_t>& ids) {
    constexpr std::size_t longest_known = 64;
    if (word.empty()) return;
    if (word.size() > longest_known) return encode(word, ids);
    Known& known = known_[hash64(std::as_bytes(std::span(word))) & (known_.size() - 1)];
    if (known.word != word) {
        known.ids.clear();
        known.word.clear();  // Not another word's where this one is refused.
        encode(word, known.ids);
        known.word = word;
    }
    ids.insert(ids.end(), known.ids.begin(), known.ids.end());
}

void BytePairs::Encoder::encode(std::string_view word, std::vector<std::int64_t>& ids) {
    if (pairs_.definition_.ignore_merges) {
        const auto id =
            pairs_.bytes_ ? pairs_.find(byte_alphabet::written(word)) : pairs_.find(word);
        if (id) return ids.push_back(*id);
    }
    if (word.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
        throw InputError(
            fmt::format("a word of {} bytes is too long (2 GiB are the most) encode "
                        "the text in parts",
                        word.size()));
    symbols_.clear();
    if (pairs_.bytes_)
        read_bytes(word);
    else
        read_characters(word);
    merge();
    for (std::int32_t at = symbols_.empty() ? -1 : 0; at >= 0;
         at = symbols_[static_cast<std::size_t>(at)].next)
        ids.push_back(symbols_[static_cast<std::size_t>(at)].id);
}

void BytePairs::Encoder::add_symbol(std::uint32_t id) {
    const auto at = static_cast<std::int32_t>(symbols_.size());
    if (at > 0) symbols_.back().next = at;
    symbols_.push_back({.id = id, .previous = at - 1});
}

void BytePairs::Encoder::read_bytes(std::string_view word) {
    bool after_unknown = false;
    for (const char byte : word) {
        std::uint32_t id = pairs_.byte_ids_[static_cast<unsigned char>(byte)];
        const bool unknown = id == none;
        if (unknown) id = pairs_.unknown_;
        if (id == none)
            throw InputError(fmt::format(
                "the text holds the byte 0x{:02X}, in \"{}\" (no token stands for it, and the "
                "tokenizer has no unk_token) use a tokenizer with all 256 bytes",
                static_cast<unsigned char>(byte), shortened(word, 40)));
        if (!unknown || !after_unknown || !pairs_.definition_.fuse_unknown) add_symbol(id);
        after_unknown = unknown;
    }
}

void BytePairs::Encoder::read_characters(std::string_view word) {
    bool after_unknown = false;
    for (std::size_t at = 0; at < word.size();) {
        const std::string_view character = word.substr(at, unicode::character_at(word, at).length);
        at += character.size();
        const auto id = pairs_.find(character);
        if (id) {
            add_symbol(*id);
        } else if (pairs_.definition_.byte_fallback) {
            for (const char byte : character)
                add_symbol(pairs_.byte_ids_[static_cast<unsigned char>(byte)]);
        } else if (pairs_.unknown_ == none) {
            throw InputError(fmt::format(
                "the text holds the character \"{}\" (no token stands for it, and the tokenizer "
                "has no unk_token) leave it out or use another tokenizer",
                shortened(character)));
        } else if (!after_unknown || !pairs_.definition_.fuse_unknown) {
            add_symbol(pairs_.unknown_);
        }
        after_unknown = !id && !pairs_.definition_.byte_fallback;
    }
}

/// Which merge a symbol and the next one have.
void BytePairs::Encoder::look_up(std::size_t at) {
    Symbol& symbol = symbols_[at];
    symbol.rank = none;
    if (symbol.next < 0) return;
    const Merge* merge = pairs_.find(symbol.id, symbols_[static_cast<std::size_t>(symbol.next)].id);
    if (merge == nullptr) return;
    symbol.rank = merge->rank;
    symbol.merged = merge->merged;
    waiting_.push_back(std::uint64_t{merge->rank} << 32U | at);
    std::ranges::push_heap(waiting_, std::greater<>());
}

void BytePairs::Encoder::merge() {
    waiting_.clear();
    for (std::size_t at = 0; at < symbols_.size(); ++at) look_up(at);
    while (!waiting_.empty()) {
        const auto rank = static_cast<std::uint32_t>(waiting_.front() >> 32U);
        const auto at = static_cast<std::uint32_t>(waiting_.front());
        std::ranges::pop_heap(waiting_, std::greater<>());
        waiting_.pop_back();
        Symbol& symbol = symbols_[at];
        if (symbol.rank != rank) continue;  // It was merged, or has another neighbour now.
        Symbol& gone = symbols_[static_cast<std::size_t>(symbol.next)];
        symbol.id = symbol.merged;
        symbol.next = gone.next;
        gone.rank = none;
        if (symbol.next >= 0)
            symbols_[static_cast<std::size_t>(symbol.next)].previous =
                static_cast<std::int32_t>(at);
        look_up(at);
        if (symbol.previous >= 0) look_up(static_cast<std::size_t>(symbol.previous));
    }
}

}  // namespace cambrian
