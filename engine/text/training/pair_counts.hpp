#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cambrian {

/// A word of a text, and how often it stands there.
struct CountedWord {
    std::string_view word;
    std::int64_t count = 0;
};

/// Two neighbouring symbols.
struct SymbolPair {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::int64_t count = 0;
};

/// Words as symbols, at first their bytes, with the counts of all pairs of neighbours. Merging a
/// pair takes time in proportion to where it stands.
class PairCounts {
  public:
    explicit PairCounts(const std::vector<CountedWord>& words);

    /// The most frequent pair, of equal ones that with the smallest symbols; its count is 0 where
    /// there is none.
    [[nodiscard]] SymbolPair largest_pair();
    /// Makes one symbol of a pair wherever it stands, in each word from the left.
    void merge(const SymbolPair& pair, std::uint32_t merged);

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFF;
    struct Symbol {
        std::uint32_t id = none;  ///< none: merged into the one before.
        std::uint32_t previous = none;
        std::uint32_t next = none;
        std::uint32_t word = 0;
    };
    struct Pair {
        std::int64_t count = 0;
        std::vector<std::uint32_t> places;  ///< Where it stood once.
    };
    struct Waiting {
        std::int64_t count = 0;
        std::uint64_t key = 0;
        friend bool operator<(const Waiting& a, const Waiting& b) {
            return a.count != b.count ? a.count < b.count : a.key > b.key;
        }
    };
    static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
        return std::uint64_t{left} << 32U | right;
    }
    void change(std::uint32_t at, bool adds);
    void push_changed();

    std::vector<Symbol> symbols_;
    std::vector<std::int64_t> word_counts_;
    std::unordered_map<std::uint64_t, Pair> pairs_;
    std::vector<std::uint64_t> changed_;
    std::vector<Waiting> waiting_;  ///< A heap; entries whose count has changed are passed over.
};

}  // namespace cambrian
