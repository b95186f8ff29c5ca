#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/evolve/dna.hpp"
#include "cambrian/evolve/genome.hpp"

namespace cambrian::evolve {

enum class SpliceMode : std::uint8_t { blend, point, uniform };
[[nodiscard]] std::string_view name(SpliceMode mode);

struct SpliceSettings {
    float rate = 0.25F;  ///< Probability that a child has two parents.
    SpliceMode mode = SpliceMode::blend;
    float alpha =
        0.5F;  ///< blend: share of the other parent when fitness and similarity say nothing.
    float split = 0.5F;  ///< point: share of each tensor that comes from the fitter parent.
};

/// What a splice did with one matching gene.
struct SplicedGene {
    std::string name;  ///< "slot 3", "link 0→4", "head".
    double similarity = 0.0;
    double share = 0.0;        ///< Share of the other parent's weights in the child.
    std::int64_t weights = 0;  ///< Weights that were mixed.
};

struct SpliceReport {
    std::vector<SplicedGene> genes;
    std::int64_t mixed = 0;      ///< Matching genes of equal shape.
    std::int64_t inherited = 0;  ///< Genes only the fitter parent has, or of another shape there.
};

/// A child with the structure of `fitter` (its disjoint and excess genes too) whose matching genes
/// of equal type and shape mix the weights of both. blend draws toward the fitter parent where the
/// two are dissimilar: share of other = similarity·w + (1 − similarity)·0 with w = alpha for equal
/// fitness and falling toward 0 as the fitter leads. uniform and point as their names say. Equal
/// fitness is symmetric.
[[nodiscard]] Genome splice(RandomStream& rng, const SpliceSettings& settings, const Genome& fitter,
                            double fitter_fitness, const Genome& other, double other_fitness,
                            SpliceReport* report = nullptr);

}  // namespace cambrian::evolve
