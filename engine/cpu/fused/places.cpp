#include "cambrian/engine/cpu/fused/places.hpp"

#include <algorithm>

namespace cambrian::cpu {

namespace {

// Words of one value in a block: a few of them and the operands stay in the first-level cache.
constexpr std::int64_t block_words = 1024;
constexpr std::int64_t words_per_line = 16;
// Folds take eight rows at once, of so many columns in one block.
constexpr std::int64_t folded_rows = 8;
constexpr std::int64_t folded_width = 1024;

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

}  // namespace

FusedPlaces::FusedPlaces(FusedCode& code, const FusedAxes& axes)
    : code_(code), axes_(axes), views_(axes.views(), -1) {
    find_tile();
}

void FusedPlaces::find_tile() {
    const std::int64_t length = std::max<std::int64_t>(1, axes_.row_length());
    code_.block_width = std::min(length, code_.reduces ? folded_width : block_words);
    code_.block_rows = std::max<std::int64_t>(1, block_words / length);
    code_.tile_rows = code_.block_rows;
    if (code_.reduces) {
        code_.tile_rows = rounded_up(code_.block_rows, folded_rows);
        if (code_.tile_rows * length <= 2 * block_words) code_.block_rows = code_.tile_rows;
    }
    // Rows of a panel do not fall on the same lines of the cache.
    code_.panel_stride = code_.block_width + (code_.block_rows == 1 ? words_per_line : 0);
}

int FusedPlaces::add(FusedPlace::Kind kind, std::int64_t index, Level level) {
    code_.places.push_back({kind, index, level});
    return static_cast<int>(code_.places.size()) - 1;
}

std::int64_t FusedPlaces::take_words(std::int64_t words) {
    const std::int64_t first = code_.words;
    code_.words += rounded_up(words, words_per_line);
    return first;
}

int FusedPlaces::add_literal(std::uint32_t bits) {
    code_.literals.push_back(bits);
    return add(FusedPlace::Kind::literal, std::ssize(code_.literals) - 1, Level::one);
}

int FusedPlaces::add_words(Level level) {
    return add(FusedPlace::Kind::words, take_words(level == Level::row ? code_.tile_rows : 1),
               level);
}

int FusedPlaces::add_rows() {
    return add(FusedPlace::Kind::rows, take_words(code_.tile_rows * axes_.row_length()),
               Level::full);
}

int FusedPlaces::view(std::size_t view) {
    int& place = views_[view];
    if (place < 0)
        place = add(FusedPlace::Kind::view, static_cast<std::int64_t>(view), axes_.level(view));
    return place;
}

int FusedPlaces::take_block() {
    return take(free_blocks_, FusedPlace::Kind::block,
                code_.block_rows * code_.block_width + words_per_line);
}

int FusedPlaces::take_panel() {
    const int place = take(free_panels_, FusedPlace::Kind::panel,
                           code_.tile_rows * code_.panel_stride + words_per_line);
    used_panels_.push_back(place);
    return place;
}

int FusedPlaces::take(std::vector<int>& free, FusedPlace::Kind kind, std::int64_t words) {
    if (free.empty()) return add(kind, take_words(words), Level::full);
    const int place = free.back();
    free.pop_back();
    return place;
}

void FusedPlaces::end_phase() {
    free_panels_.insert(free_panels_.end(), used_panels_.begin(), used_panels_.end());
    used_panels_.clear();
}

bool FusedPlaces::is_whole(int place) const {
    const FusedPlace& at = (*this)[place];
    if (at.level == Level::one || at.kind == FusedPlace::Kind::block) return true;
    if (at.level == Level::row || code_.block_width != axes_.row_length()) return false;
    if (at.kind == FusedPlace::Kind::rows) return true;
    if (at.kind == FusedPlace::Kind::panel) return code_.panel_stride == code_.block_width;
    const auto view = static_cast<std::size_t>(at.index);
    return axes_.column_stride(view) == 1 && axes_.even() &&
           axes_.row_stride(view) == axes_.row_length();
}

std::int64_t FusedPlaces::stride(int place, Level along) const {
    const FusedPlace& at = (*this)[place];
    if (at.level != along || along == Level::one) return 0;
    return at.kind == FusedPlace::Kind::view
               ? axes_.column_stride(static_cast<std::size_t>(at.index))
               : 1;
}

}  // namespace cambrian::cpu
