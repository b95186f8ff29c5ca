#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/evolve/variation/birth.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/evolve/variation/splice.hpp"

namespace cambrian::evolve {

/// The networks that founders are made of, in turn. Their births in another run mean nothing here,
/// so their genes were born in birth 0; their historical ids are kept, so that networks of both
/// runs align.
struct InitialNetworks {
    /// @param networks one or more.
    explicit InitialNetworks(std::vector<Genome> networks, bool keeps = true);

    std::vector<Genome> genomes;
    bool keeps_weights;  ///< Else founders have structure and genes with weights of their own.

    /// Which network the founder of a birth is made of.
    [[nodiscard]] std::size_t index_of(BirthId birth) const { return birth % genomes.size(); }
    /// Whether it is that very network, weights and all: so no generation is worse than any.
    [[nodiscard]] bool is_founder_itself(BirthId birth) const {
        return keeps_weights && birth < genomes.size();
    }
};
/// Names what founders are made of: structures and genes, and the weights where they are kept.
[[nodiscard]] Hash128 content_hash(const InitialNetworks& initial);

/// How the children of one island differ from their parents.
struct IslandVariation {
    MutationSettings mutation;
    SpliceSettings splice;
    std::shared_ptr<const GenomeKind> kind = nullptr;  ///< Null: volumetric, by the settings above.
};

/// Everything identity-relevant about variation in a run.
struct VariationSettings {
    Blueprint founder;
    GenomeLimits limits;
    MutationSettings mutation;
    SpliceSettings splice;
    /// The first is of structure `founder`; null: founders have fresh weights and the genes of
    /// their slots.
    std::shared_ptr<const InitialNetworks> initial = nullptr;
    std::vector<IslandVariation> islands{};  ///< By Birth::island; empty: all as above.
    ComplexitySettings complexity{};
    /// Of the genomes of the run; null: volumetric, by the settings above.
    std::shared_ptr<const GenomeKind> kind = nullptr;
};
/// The networks that founders begin with, whatever kind of genome they become.
[[nodiscard]] std::vector<const Blueprint*> founder_networks(const VariationSettings& settings);
/// Whether genomes are genotypes, see GenomeKind::develops.
[[nodiscard]] bool develops(const VariationSettings& settings);
/// Throws ConfigError where complexity is regulated and a kind of genome cannot lose genes.
void check_complexity(const VariationSettings& settings);
/// Whether children of any island have graphs that no parent has.
[[nodiscard]] bool makes_structures(const VariationSettings& settings);

struct Offspring {
    Genome genome;
    std::uint32_t retries = 0;  ///< Structural draws that had no valid outcome.
};

/// Turns births into genomes: a pure function of (seed, settings, birth, parents), so any rank may
/// do it.
class Variation {
  public:
    /// Throws ShapeError when the founder does not build, ConfigError for an unknown layer type and
    /// for a network that no genome of the kind holds.
    Variation(std::uint64_t seed, VariationSettings settings);
    /// Structure of the founder of a birth, on an island where these differ.
    [[nodiscard]] SharedStructure founder_structure(BirthId birth, std::uint32_t island = 0) const;
    /// Works out how a child comes about, from the structures of its parents alone.
    /// @param parents in the order of birth.parents.
    void plan(const Birth& birth, std::span<const SharedStructure* const> parents,
              ChildPlan& child) const;
    /// The weights that a plan calls those of the first parent where a birth has none: of its
    /// initial network, or nothing.
    [[nodiscard]] std::span<const float> initial_weights(BirthId birth) const;

    /// Makes the whole child on the host, into an individual whose memory is used again and that
    /// is none of the parents.
    /// @param plan for use again; afterwards it lacks the structure, which is the child's.
    void materialise(const Birth& birth, std::span<const Individual* const> parents,
                     ChildPlan& plan, Individual& child) const;
    /// The same for genomes by themselves.
    [[nodiscard]] Offspring materialise(const Birth& birth,
                                        std::span<const Genome* const> parents) const;
    /// Whether it depends on the weights of parents how a child comes from them, so that it is made
    /// where these are.
    [[nodiscard]] bool reads_weights() const;
    /// Whether genomes are genotypes, see GenomeKind::develops.
    [[nodiscard]] bool develops() const { return kind_->develops(); }
    /// The network of a genotype. Contract: develops(), and its weights are on the host.
    [[nodiscard]] Individual develop(const Individual& genotype) const {
        return kind_->develop(genotype);
    }
    [[nodiscard]] const VariationSettings& settings() const { return settings_; }

  private:
    void found(const Birth& birth, ChildPlan& child) const;
    [[nodiscard]] SharedStructure founder_structure(RandomStream& rng, BirthId birth,
                                                    std::uint32_t island) const;
    [[nodiscard]] const GenomeKind& kind_of(std::uint32_t island) const;
    [[nodiscard]] const GenomeKind& kind_of(const Birth& birth) const {
        return kind_of(birth.island);
    }

    VariationSettings settings_;
    std::shared_ptr<const GenomeKind> kind_;
    std::vector<std::shared_ptr<const GenomeKind>> kinds_;  // by island; empty: one of all
    /// By island, or of all: with all widths; of initial networks, or just one.
    std::vector<std::vector<SharedStructure>> founders_;
    RandomKey sample_key_;
    RandomKey splice_key_;
    RandomKey mutate_key_;
};

}  // namespace cambrian::evolve
