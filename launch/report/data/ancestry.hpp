#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "cambrian/evolve/runs/individual_log.hpp"

// Who descends from whom, as individuals.cmb of a run tells it.
namespace cambrian::launch {

/// What a lineage needs of an individual: little, since there may be millions.
struct Kin {
    evolve::BirthId id = 0;
    evolve::BirthId origin = 0;
    std::array<evolve::BirthId, evolve::Parents::max_count> parents{};
    double fitness = 0.0;
    std::uint64_t parameters = 0;
    std::uint32_t generation = 0;
    evolve::Recipe recipe = evolve::Recipe::sample;
    evolve::Status status = evolve::Status::ok;
    std::uint8_t parent_count = 0;
};

/// The births that made the genomes of the parents of one; in place, as lineages may have millions.
class KinParents {
  public:
    void push_back(evolve::BirthId id) { ids_.at(count_++) = id; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] evolve::BirthId front() const { return ids_.front(); }
    [[nodiscard]] evolve::BirthId operator[](std::size_t index) const { return ids_.at(index); }
    [[nodiscard]] const evolve::BirthId* begin() const { return ids_.data(); }
    [[nodiscard]] const evolve::BirthId* end() const { return ids_.data() + count_; }

  private:
    std::array<evolve::BirthId, evolve::Parents::max_count> ids_{};
    std::size_t count_ = 0;
};

/// Everybody in a log, by rising id.
class Ancestry {
  public:
    Ancestry() = default;
    /// Throws InputError where the file is damaged.
    explicit Ancestry(const std::filesystem::path& log);

    [[nodiscard]] const std::vector<Kin>& all() const { return all_; }
    /// Null where the log does not know it.
    [[nodiscard]] const Kin* find(evolve::BirthId id) const;
    /// The birth that made the genome of another one; that one where the log does not know it.
    [[nodiscard]] evolve::BirthId origin_of(evolve::BirthId id) const;
    [[nodiscard]] KinParents parents_of(const Kin& kin) const;

  private:
    std::vector<Kin> all_;
};

/// Births between each ancestor and the last one.
using Lineage = std::map<evolve::BirthId, std::uint64_t>;
/// The last one and all its ancestors, also those that the log does not know.
[[nodiscard]] Lineage lineage_of(const Ancestry& ancestry, evolve::BirthId last);

}  // namespace cambrian::launch
