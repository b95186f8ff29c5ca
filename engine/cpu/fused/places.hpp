#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/engine/cpu/fused/code.hpp"

namespace cambrian::cpu {

/// Hands out the places of a fusion group's values, by position in FusedCode::places, and the
/// scratch they need.
class FusedPlaces {
  public:
    /// Decides the tiles and blocks of the code, which must outlive this.
    FusedPlaces(FusedCode& code, const FusedAxes& axes);

    [[nodiscard]] const FusedPlace& operator[](int place) const {
        return code_.places[static_cast<std::size_t>(place)];
    }

    int add_literal(std::uint32_t bits);
    /// One word, or one for each row.
    int add_words(Level level);
    /// Whole rows, for as long as a tile is worked on.
    int add_rows();
    int view(std::size_t view);
    int take_block();
    /// Until the end of the phase.
    int take_panel();
    void release_block(int place) { free_blocks_.push_back(place); }
    void end_phase();

    /// Whether the rows of a block are one run of words at a place.
    [[nodiscard]] bool is_whole(int place) const;
    /// Words between the elements of a place in a loop along one of that level.
    [[nodiscard]] std::int64_t stride(int place, Level along) const;

  private:
    void find_tile();
    int add(FusedPlace::Kind kind, std::int64_t index, Level level);
    int take(std::vector<int>& free, FusedPlace::Kind kind, std::int64_t words);
    std::int64_t take_words(std::int64_t words);

    FusedCode& code_;
    const FusedAxes& axes_;
    std::vector<int> views_;  ///< Place of each view, or -1.
    std::vector<int> free_blocks_;
    std::vector<int> free_panels_;
    std::vector<int> used_panels_;  ///< Of the current phase.
};

}  // namespace cambrian::cpu
