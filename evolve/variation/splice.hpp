#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/evolve/genome/dna.hpp"
#include "cambrian/evolve/variation/child_plan.hpp"

namespace cambrian::evolve {

enum class SpliceMode : std::uint8_t { blend, point, uniform, gene, neuron };
inline constexpr std::array<std::string_view, 5> splice_mode_names{"blend", "point", "uniform",
                                                                   "gene", "neuron"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(SpliceMode) {
    return splice_mode_names;
}
[[nodiscard]] std::string_view name(SpliceMode mode);

/// What is done to the other parent before a splice.
enum class SpliceAlign : std::uint8_t {
    none,
    permutation,  ///< Its units get the order in which they are most like the fitter parent's.
};
inline constexpr std::array<std::string_view, 2> splice_align_names{"none", "permutation"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(SpliceAlign) {
    return splice_align_names;
}

struct SpliceSettings {
    float rate = 0.25F;  ///< Probability that a child has two parents.
    SpliceMode mode = SpliceMode::blend;
    float alpha =
        0.5F;  ///< blend: share of the other parent when fitness and similarity say nothing.
    double split = 0.5;  ///< point: share of each tensor that comes from the fitter parent.
    SpliceAlign align = SpliceAlign::none;

    static constexpr auto fields = FieldTable{
        Field{"rate", &SpliceSettings::rate},   Field{"mode", &SpliceSettings::mode},
        Field{"alpha", &SpliceSettings::alpha}, Field{"split", &SpliceSettings::split},
        Field{"align", &SpliceSettings::align},
    };
};

/// What a splice did with one matching gene.
struct SplicedGene {
    std::string name;  ///< "slot 3", "link 0→4", "head".
    double similarity = 0.0;
    double share = 0.0;        ///< Share of the other parent's weights in the child.
    std::int64_t weights = 0;  ///< Weights that were mixed.
};

struct SpliceReport {
    std::vector<SplicedGene> genes;  ///< Matching genes of equal shape, in the order of weights.
    std::int64_t mixed = 0;          ///< Of these, genes that took weights from the other parent.
    std::int64_t inherited = 0;      ///< Genes that are wholly the fitter parent's.
    /// What was spliced (the other parent after its alignment), and what came of it.
    Dna fitter;
    Dna other;
    Dna child;
    /// Of each layer of the child, and of the fitter parent, that of the other parent by the same
    /// gene: its index in `other`.
    std::vector<std::optional<std::size_t>> matches;
};

/// How far the fitter parent leads: (f − g) / (|f| + |g|), which is 0 for equal fitness, at most 1,
/// and 1 when the signs differ; infinite when only one fitness is finite. NaN counts as −infinity.
[[nodiscard]] double fitness_lead(double fitter, double other);

/// A child with the structure of `fitter` (its disjoint and excess genes too) whose matching genes
/// of equal type and shape mix the weights of both, nested layers included. The share of the other
/// parent is at most w, which falls as the fitter leads: w = alpha / (1 + fitness_lead), so between
/// alpha and alpha / 2, and 0 where the lead is infinite.
///
/// - blend: (1 − s)·fitter + s·other with s = w · max(similarity, 0): the less alike two genes are,
///   the more the child keeps to the fitter parent.
/// - uniform: every weight from the other parent with probability w, alpha being ½.
/// - point: every tensor is cut once; `split` of it comes from the fitter parent: its first part,
///   or for equal fitness its first or last part by one draw.
/// - gene, neuron: a layer or link, or each unit of one, is wholly the other parent's with
///   probability w, alpha being ½. A unit is taken with what it reads and its bias: with all its
///   gates, an attention head with its queries (and keys and values, where it has its own), a
///   channel of a state space with its filter and states, a neuron with the connections to it.
///   Each layer in a container has units of its own.
///
/// With `align` the units of the other parent are brought into order first (aligned_weights), which
/// changes what it computes in nothing. With equal fitness (and alpha = ½, split = ½) the two
/// parents have equal parts in the weights.
[[nodiscard]] Genome splice(RandomStream& rng, const SpliceSettings& settings, const Genome& fitter,
                            double fitter_fitness, const Genome& other, double other_fitness,
                            SpliceReport* report = nullptr);
/// The same for a plan that has begun with the fitter parent.
void splice(RandomStream& rng, const SpliceSettings& settings, ChildPlan& child,
            double fitter_fitness, const Structure& other, double other_fitness);

}  // namespace cambrian::evolve
