#include "cambrian/engine/text/token_index.hpp"

#include <algorithm>

namespace cambrian {

TokenIndex::Place TokenIndex::place_of(const Entry& entry) {
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < sizeof begin; ++i)
        begin =
            begin << 8U | (i < entry.text.size() ? static_cast<unsigned char>(entry.text[i]) : 0U);
    return {begin, entry};
}

TokenIndex::TokenIndex(std::span<const Entry> entries) {
    places_.reserve(entries.size());
    for (const Entry& entry : entries) places_.push_back(place_of(entry));
    std::ranges::stable_sort(places_, std::less<>());
}

std::optional<std::uint32_t> TokenIndex::find(std::string_view text) const {
    const auto found = std::lower_bound(places_.begin(), places_.end(), place_of({text, 0}));
    if (found == places_.end() || found->entry.text != text) return std::nullopt;
    return found->entry.id;
}

std::optional<std::string_view> TokenIndex::repeated() const {
    const auto found = std::adjacent_find(
        places_.begin(), places_.end(),
        [](const Place& a, const Place& b) { return a.entry.text == b.entry.text; });
    if (found == places_.end()) return std::nullopt;
    return found->entry.text;
}

}  // namespace cambrian
