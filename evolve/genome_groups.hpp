#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/evolve/tape_shelf.hpp"

namespace cambrian::evolve {

/// The class of size of networks that run as graphs; sorts behind those of tapes.
inline constexpr std::size_t as_graph = TapeShelf::class_count;

/// What decides with which others a network runs.
struct GenomeStructure {
    Hash128 hash;  ///< Of what must be equal for one graph, or of the tape.
    std::size_t size_class = as_graph;
    std::uint64_t path = 0;  ///< Of interpreted ones, and their cost.
    std::int64_t cost = 0;
};

/// Puts networks of equal structure side by side. Keeps its storage.
class GenomeGroups {
  public:
    /// Networks of one structure at positions [begin, end).
    struct Group {
        GenomeStructure structure;
        std::size_t count = 0;
        std::size_t begin = 0;
        std::size_t end = 0;
    };

    void arrange(std::span<const GenomeStructure> structures);

    /// Genomes by position: classes of tapes first, in each those of one path side by side, the
    /// cheap before the dear, so that neighbours do the same and take about as long; then the
    /// graphs.
    [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; }
    [[nodiscard]] const Group& group_at(std::size_t position) const {
        return groups_[group_of_[order_[position]]];
    }
    /// Position behind the networks that share a program with the one at a position: graphs of one
    /// structure, or a whole class of tapes.
    [[nodiscard]] std::size_t end_of_program(std::size_t position) const;

  private:
    void find(std::span<const GenomeStructure> structures);
    void place();

    std::vector<std::uint32_t> buckets_;   ///< Hash table of groups.
    std::vector<std::uint32_t> group_of_;  ///< Of every genome.
    std::vector<Group> groups_;
    std::vector<std::uint32_t> sorted_;  ///< Groups.
    std::vector<std::uint32_t> order_;
    std::array<std::size_t, TapeShelf::class_count> class_ends_{};
};

}  // namespace cambrian::evolve
