#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/radix_sort.hpp"
#include "cambrian/evolve/evaluation/bytecode_batch.hpp"

namespace cambrian::evolve {

/// The class of size of networks that run as graphs; sorts after those of bytecodes.
inline constexpr std::size_t as_graph = BytecodeBatch::class_count;

/// What decides with which others a network runs.
struct GenomeStructure {
    Hash128 hash;  ///< Of what must be equal for one graph, or of the bytecode.
    std::size_t size_class = as_graph;
    std::uint64_t path = 0;  ///< Of interpreted ones, and their cost.
    std::int64_t cost = 0;
};

[[nodiscard]] inline GenomeStructure structure_of(const BytecodeBatch::Entry& entry) {
    return {
        .hash = entry.hash, .size_class = entry.size_class, .path = entry.path, .cost = entry.cost};
}

/// Puts networks of equal structure side by side. Keeps its storage.
class GenomeGroups {
  public:
    /// Networks of one structure at positions [begin, end).
    struct Group {
        GenomeStructure structure;
        std::size_t count = 0;
        std::size_t begin = 0;
        std::size_t end = 0;
        std::uint32_t run = 0;
    };

    /// @param lockstep of the backend: so many neighbours share a path where that is affordable.
    void arrange(std::span<const GenomeStructure> structures, std::int64_t lockstep);

    /// Genomes by position: classes of bytecodes first, in each those of one path side by side, the
    /// dear before the cheap, so that neighbours do the same and take about as long, and nothing
    /// long begins last; then the graphs. The last genome of a path is repeated where the next path
    /// would begin in the middle of neighbours that wait for each other.
    [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; }
    [[nodiscard]] const Group& group_at(std::size_t position) const {
        return groups_[group_of_[order_[position]]];
    }
    /// Position after the networks that share a program with the one at a position: graphs of one
    /// structure, or a whole class of bytecodes.
    [[nodiscard]] std::size_t end_of_program(std::size_t position) const;

  private:
    /// Bytecodes of one class and path.
    struct Run {
        std::uint64_t path = 0;
        std::size_t size_class = 0;
        std::size_t count = 0;     ///< Genomes.
        std::int64_t dearest = 0;  ///< Cost of its most expensive bytecode.
        std::size_t rank = 0;      ///< Among the runs, in the order of positions.
    };

    /// The bucket, from a first one on, of what does not differ, or the vacant one that it gets.
    template <class Differs>
    [[nodiscard]] std::uint32_t& bucket_of(std::size_t first, const Differs& differs);
    void find(std::span<const GenomeStructure> structures);
    void find_runs();
    void sort();
    /// A multiple of this begins every path.
    [[nodiscard]] std::size_t grain(std::int64_t lockstep) const;
    void place(std::size_t grain);
    void fill_gaps();

    std::vector<std::uint32_t> buckets_;   ///< Hash table of groups, then of runs.
    std::vector<std::uint32_t> group_of_;  ///< Of every genome.
    std::vector<Group> groups_;
    std::vector<Run> runs_;
    RadixSort sort_;  ///< Of runs, then of groups, whose order it keeps.
    std::vector<std::uint32_t> order_;
    std::array<std::size_t, BytecodeBatch::class_count> class_ends_{};
};

}  // namespace cambrian::evolve
