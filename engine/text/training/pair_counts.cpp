#include "cambrian/engine/text/training/pair_counts.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

PairCounts::PairCounts(const std::vector<CountedWord>& words) {
    std::size_t length = 0;
    for (const CountedWord& word : words) length += word.word.size();
    CAMBRIAN_EXPECT(length < none);
    symbols_.reserve(length);
    for (const CountedWord& word : words) {
        const auto begin = static_cast<std::uint32_t>(symbols_.size());
        const auto end = begin + static_cast<std::uint32_t>(word.word.size());
        for (std::uint32_t at = begin; at < end; ++at)
            symbols_.push_back({.id = static_cast<unsigned char>(word.word[at - begin]),
                                .previous = at == begin ? none : at - 1,
                                .next = at + 1 == end ? none : at + 1,
                                .word = static_cast<std::uint32_t>(word_counts_.size())});
        word_counts_.push_back(word.count);
    }
    for (std::uint32_t at = 0; at < symbols_.size(); ++at) change(at, true);
    push_changed();
}

/// Adds the pair that begins at a symbol, or takes it away.
void PairCounts::change(std::uint32_t at, bool adds) {
    const Symbol& left = symbols_[at];
    if (left.next == none) return;
    const std::uint64_t key = key_of(left.id, symbols_[left.next].id);
    Pair& pair = pairs_[key];
    pair.count += adds ? word_counts_[left.word] : -word_counts_[left.word];
    if (adds) pair.places.push_back(at);
    changed_.push_back(key);
}

void PairCounts::push_changed() {
    std::ranges::sort(changed_);
    const auto repeated = std::ranges::unique(changed_);
    changed_.erase(repeated.begin(), repeated.end());
    for (const std::uint64_t key : changed_) {
        const auto pair = pairs_.find(key);
        if (pair->second.count == 0) {
            pairs_.erase(pair);
            continue;
        }
        waiting_.push_back({pair->second.count, key});
        std::push_heap(waiting_.begin(), waiting_.end());
    }
    changed_.clear();
}

SymbolPair PairCounts::largest_pair() {
    while (!waiting_.empty()) {
        const Waiting top = waiting_.front();
        const auto pair = pairs_.find(top.key);
        if (pair != pairs_.end() && pair->second.count == top.count)
            return {static_cast<std::uint32_t>(top.key >> 32U), static_cast<std::uint32_t>(top.key),
                    top.count};
        std::pop_heap(waiting_.begin(), waiting_.end());
        waiting_.pop_back();
    }
    return {};
}

void PairCounts::merge(const SymbolPair& pair, std::uint32_t merged) {
    std::vector<std::uint32_t> places = std::move(pairs_.at(key_of(pair.left, pair.right)).places);
    std::ranges::sort(places);
    for (const std::uint32_t at : places) {
        Symbol& left = symbols_[at];
        if (left.id != pair.left || left.next == none || symbols_[left.next].id != pair.right)
            continue;
        const std::uint32_t before = left.previous;
        const std::uint32_t gone = left.next;
        if (before != none) change(before, false);
        change(at, false);
        change(gone, false);
        left.id = merged;
        left.next = symbols_[gone].next;
        if (left.next != none) symbols_[left.next].previous = at;
        symbols_[gone] = {};
        if (before != none) change(before, true);
        change(at, true);
    }
    push_changed();
}

}  // namespace cambrian
