#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cambrian/evolve/birth.hpp"
#include "cambrian/evolve/mutation.hpp"
#include "cambrian/evolve/splice.hpp"

namespace cambrian::evolve {

/// Everything identity-relevant about variation in a run.
struct VariationSettings {
    Blueprint founder;
    GenomeLimits limits;
    MutationSettings mutation;
    SpliceSettings splice;
};

struct Offspring {
    Genome genome;
    std::uint32_t redrawn = 0;
};

/// Turns births into genomes: a pure function of (seed, settings, birth, parents), so any rank may
/// do it.
class Variation {
  public:
    /// Throws ShapeError when the founder does not build, ConfigError for an unknown layer type.
    Variation(std::uint64_t seed, VariationSettings settings);
    /// `parents` in the order of birth.parents.
    [[nodiscard]] Offspring materialise(const Birth& birth,
                                        std::span<const Genome* const> parents) const;
    /// The same into a genome whose memory is used again; → Offspring::redrawn. `child` is none of
    /// the parents.
    [[nodiscard]] std::uint32_t materialise(const Birth& birth,
                                            std::span<const Genome* const> parents,
                                            Genome& child) const;
    [[nodiscard]] const VariationSettings& settings() const { return settings_; }

  private:
    VariationSettings settings_;
    std::shared_ptr<const Network> founder_;  // built once, shared by copies
    RandomKey sample_key_;
    RandomKey splice_key_;
    RandomKey mutate_key_;
};

}  // namespace cambrian::evolve
