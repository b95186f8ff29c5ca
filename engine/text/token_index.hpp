#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cambrian {

/// Ids by the texts of tokens, which outlive it. Searched by halves: no choice of texts makes a
/// search slow.
class TokenIndex {
  public:
    struct Entry {
        std::string_view text;
        std::uint32_t id = 0;
    };

    TokenIndex() = default;
    explicit TokenIndex(std::span<const Entry> entries);

    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view text) const;
    /// A text that stands in it twice, if one does.
    [[nodiscard]] std::optional<std::string_view> repeated() const;

  private:
    /// The first eight bytes as a number in the order of texts: most comparisons end with it.
    struct Place {
        std::uint64_t begin = 0;
        Entry entry;
        friend bool operator<(const Place& a, const Place& b) {
            return a.begin != b.begin ? a.begin < b.begin : a.entry.text < b.entry.text;
        }
    };
    static Place place_of(const Entry& entry);

    std::vector<Place> places_;
};

}  // namespace cambrian
