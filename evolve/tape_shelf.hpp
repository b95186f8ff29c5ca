#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/network/tape.hpp"

namespace cambrian::evolve {

/// The tapes of many networks, sorted into few classes of size. All networks of
/// a class fit one capacity, which only grows, so that one program serves them all for good. Keeps
/// its storage.
class TapeShelf {
  public:
    static constexpr std::size_t class_count = 3;
    struct Entry {
        std::size_t size_class = 0;
        std::int64_t cost = 0;  ///< Packed weights: about the work of a row.
        Hash128 hash;           ///< Of the tape: networks with equal ones run exactly alike.
    };

    /// Forgets the networks, never a capacity.
    void clear();
    /// Appends a network; nothing, and nothing appended, when it is too large to interpret.
    [[nodiscard]] std::optional<Entry> add(const Blueprint& blueprint);
    /// What every network of a class fits, those added so far included.
    [[nodiscard]] const TapeCapacity& capacity(std::size_t size_class) const {
        return capacities_[size_class];
    }
    /// Writes a network, by its position among those added, to where a program reads it: a tape of
    /// capacity.words, packed weights of capacity.weights. What lies behind its own words stays.
    void write(std::size_t index, std::span<const float> weights, std::span<std::int32_t> tape,
               std::span<float> packed) const;

  private:
    struct Place {
        std::size_t words = 0;
        std::size_t packings = 0;
    };
    TapeWriter writer_;
    std::vector<std::int32_t> words_;
    std::vector<TapePacking> packings_;
    std::vector<Place> ends_;
    std::array<TapeCapacity, class_count> capacities_;
};

}  // namespace cambrian::evolve
