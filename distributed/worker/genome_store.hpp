#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/evolve/genome/genome.hpp"
#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::distributed {

using SharedGenome = std::shared_ptr<const evolve::Genome>;
/// A list of genomes by place, that several hold while births name places in it.
using SharedGenomes = std::shared_ptr<const std::vector<SharedGenome>>;

/// The genomes of a birth's parents, which are at Parent::member of a list.
class ParentGenomes {
  public:
    ParentGenomes(const evolve::Birth& birth, std::span<const SharedGenome> list);
    [[nodiscard]] std::span<const evolve::Genome* const> span() const {
        return std::span(genomes_).first(count_);
    }

  private:
    std::array<const evolve::Genome*, evolve::Parents::most> genomes_{};
    std::size_t count_;
};

/// Bytes a genome takes in memory, roughly.
[[nodiscard]] std::uint64_t footprint(const evolve::Genome& genome);

/// Genomes by content hash, in a flat table.
class GenomeStore {
  public:
    void add(Hash128 hash, SharedGenome genome);
    /// Null when it is not there.
    [[nodiscard]] SharedGenome find(Hash128 hash) const;
    [[nodiscard]] bool contains(Hash128 hash) const;
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        Hash128 hash;
        SharedGenome genome;
    };

    /// Where a hash is in the table, or the free place where it belongs. The table is never full.
    [[nodiscard]] std::size_t place(Hash128 hash) const;
    void rebuild(std::size_t places);

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> table_;  ///< 1 + index of an entry, 0 where free; 2ⁿ places.
};

/// Genomes a worker has seen, the least recently used dropped beyond a number of bytes. What is
/// larger than the whole cache is not kept.
class GenomeCache {
  public:
    explicit GenomeCache(std::uint64_t limit_bytes) : limit_(limit_bytes) {}

    void add(Hash128 hash, SharedGenome genome);
    /// Null on a miss; a hit becomes the most recently used.
    [[nodiscard]] SharedGenome find(Hash128 hash);
    /// A generation begins: drops what none of the last `kept_generations` used, which is retired
    /// or can be asked for.
    void begin_generation();
    static constexpr std::uint64_t kept_generations = 8;
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] std::size_t size() const { return index_.size(); }

  private:
    struct Entry {
        Hash128 hash;
        SharedGenome genome;
        std::uint64_t bytes = 0;
        std::uint64_t used = 0;  ///< The generation, counted by begin_generation().
    };

    void drop_oldest();

    std::uint64_t limit_;
    std::uint64_t bytes_ = 0;
    std::uint64_t generation_ = 0;
    std::list<Entry> entries_;  ///< Most recently used first.
    std::unordered_map<Hash128, std::list<Entry>::iterator, Hash128Hasher> index_;
};

}  // namespace cambrian::distributed
