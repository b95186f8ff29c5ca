#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/network/tape.hpp"
#include "cambrian/evolve/genome.hpp"

namespace cambrian::evolve {

/// The tapes of many networks, sorted into few classes of size. All networks of a class fit one
/// capacity, which only grows, so that one program serves them all for good. Keeps its storage.
class TapeShelf {
  public:
    static constexpr std::size_t class_count = 3;
    struct Entry {
        std::size_t size_class = 0;
        std::uint64_t path = 0;  ///< Of the first instructions, op and activation.
        std::int64_t cost = 0;   ///< Packed weights: about the work of a row.
        Hash128 hash;            ///< Of the tape: networks with equal ones run exactly alike.
    };

    /// Writes the tapes of genomes, in place of those before; → one entry each, or nothing for a
    /// network that is too large to interpret. Valid until the next call.
    std::span<const std::optional<Entry>> read(std::span<const Genome* const> genomes,
                                               ThreadPool& threads);
    /// What every network of a class fits, now and before.
    [[nodiscard]] const TapeCapacity& capacity(std::size_t size_class) const {
        return capacities_[size_class];
    }
    /// Writes a network, by its position among those read, to where a program reads it: a tape of
    /// capacity.words, packed weights of capacity.weights. What lies behind its own words stays.
    /// For any thread. Contract: it has an entry.
    void write(std::size_t index, std::span<const float> weights, std::span<std::int32_t> tape,
               std::span<float> packed) const;

  private:
    struct Place {
        std::size_t words = 0;
        std::size_t packings = 0;
    };
    /// Some neighbours among the genomes, which one thread reads.
    struct Part {
        TapeWriter writer;
        std::vector<std::int32_t> words;
        std::vector<TapePacking> packings;
        std::vector<Place> ends;  ///< Of each genome.
        std::array<TapeCapacity, class_count> capacities;
    };
    static void read_part(Part& part, std::span<const Genome* const> genomes,
                          std::span<std::optional<Entry>> entries);
    static std::optional<Entry> read_genome(Part& part, const Blueprint& blueprint);

    std::vector<Part> parts_;
    std::vector<std::optional<Entry>> entries_;
    std::array<TapeCapacity, class_count> capacities_;
};

}  // namespace cambrian::evolve
