#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

// Selection, which strategies share: the best are the parents. Pools are best first.
namespace cambrian::evolve {

/// A birth that is good enough to be kept.
struct Survivor {
    std::uint32_t position = 0;
    double fitness = worst_fitness;
};

/// The best valid births, at most `count` of them, as a decision.
[[nodiscard]] Decision decide_best(const Scores& scores, std::size_t count);
/// Survivors as bytes, as decide_best() writes them.
[[nodiscard]] Decision encode_survivors(std::span<const Survivor> survivors);
/// What decide_best() decided about so many births, one after another: large populations have many.
class Survivors {
  public:
    /// Throws InputError for bytes that are no such decision. @param generation to name it.
    Survivors(std::span<const std::byte> decision, std::size_t count, std::uint64_t births,
              std::uint64_t generation);
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] bool empty() const { return decision_.empty(); }
    /// Throws InputError for a position that is none of the births.
    [[nodiscard]] Survivor next();

  private:
    std::span<const std::byte> decision_;  ///< What was not read.
    std::uint64_t births_;
    std::uint64_t generation_;
};

/// The parent at a place of a pool.
[[nodiscard]] Parent parent_at(std::span<const Member> pool, std::size_t place);
/// A place among so many, the best first.
[[nodiscard]] std::uint32_t select_place(RandomStream& rng, std::uint32_t count,
                                         const SelectionSettings& selection);
/// Another place than the first of two.
[[nodiscard]] std::uint32_t select_other(RandomStream& rng, std::uint32_t count,
                                         std::uint32_t first, const SelectionSettings& selection);
/// One place among so many, or with the splice rate two different ones, the lower first.
struct SelectedPlaces {
    std::uint32_t first = 0;
    std::optional<std::uint32_t> second;
};
[[nodiscard]] SelectedPlaces select_places(std::size_t count, const RandomKey& key, BirthId id,
                                           float splice_rate, const SelectionSettings& selection);
/// One member, or with the splice rate two different ones, the fitter first.
[[nodiscard]] Parents select_parents(std::span<const Member> pool, const RandomKey& key, BirthId id,
                                     float splice_rate, const SelectionSettings& selection);

/// The fittest migrants, at most so many, each genome once and none that the pool has.
[[nodiscard]] std::vector<Member> newcomers(std::span<const Member> pool,
                                            std::span<const Member> immigrants, std::size_t most);
/// A pool with migrants, see Strategy::receive. Each genome is there once, so that a champion that
/// migrates often fills no pool. @param most members that it may have.
[[nodiscard]] std::vector<Member> with_immigrants(std::vector<Member> pool,
                                                  std::span<const Member> immigrants,
                                                  std::size_t most, bool extinct);

/// When all give way to founders: there was no new best since then for so many generations.
struct Restarts {
    double record = worst_fitness;  ///< The best since the last restart.
    std::uint64_t improved = 0;     ///< Generation of that best, or of the restart.

    /// Notes the best of a generation; true where all give way. @param after 0: never.
    [[nodiscard]] bool due(double best, std::uint64_t generation, std::uint64_t after);
    /// Whether all give way after the generation that was told last, which is neither the first nor
    /// the first of a task: no migrants may stand in for founders.
    [[nodiscard]] bool just_now(std::uint64_t told, std::uint64_t after,
                                std::span<const std::uint64_t> task_changes) const;
};

/// Whether a generation is the first that another task judges.
[[nodiscard]] bool begins_task(std::span<const std::uint64_t> task_changes,
                               std::uint64_t generation);

void write_members(ArchiveWriter& writer, std::span<const Member> pool);
/// Throws InputError for more than `most` of them.
[[nodiscard]] std::vector<Member> read_members(ArchiveReader& reader, std::size_t most);

/// Throws the InputError of a state after a generation that contradicts itself.
[[noreturn]] void refuse_state(std::uint64_t generation, const std::string& why);
/// Throws it for a pool with a member that is out of order, or no member.
void check_members(std::span<const Member> pool, std::uint64_t generation);

}  // namespace cambrian::evolve
