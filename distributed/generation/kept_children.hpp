#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cambrian/distributed/generation/genome_pool.hpp"
#include "cambrian/engine/core/thread_pool.hpp"

namespace cambrian::distributed {

/// The children of a round that were made here, by position: of one rank among many, few of a large
/// population. Those are found through a bit for each birth, since a list with room for all would
/// be cleared and walked in every generation; as soon as they are many, they lie in such a list.
class KeptChildren {
  public:
    /// Takes those of some positions, which differ. @param births of the round.
    void keep(std::uint64_t births, std::span<const std::uint32_t> positions,
              std::span<SharedIndividual> children, ThreadPool& threads);
    /// Null where none was kept.
    [[nodiscard]] SharedIndividual at(std::uint64_t position) const;
    /// Lets go of all.
    void clear(ThreadPool& threads);

  private:
    [[nodiscard]] bool is_here(std::uint64_t position) const {
        return (bits_[position / 64] >> (position % 64) & 1U) != 0;
    }
    void spread(std::uint64_t births);

    std::vector<SharedIndividual> all_;  ///< By position; empty while they are few.
    std::vector<std::uint64_t> bits_;    ///< Of the few.
    std::unordered_map<std::uint64_t, SharedIndividual> few_;
};

}  // namespace cambrian::distributed
