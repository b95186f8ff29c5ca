#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/weights/inherited_weights.hpp"
#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/variation/value_rules.hpp"

namespace cambrian::evolve {

/// Whether noise and fresh values on pieces reach a parameter: rules reach others, or nothing does.
[[nodiscard]] inline bool varies_by_pieces(const ParameterSpec& parameter) {
    return !parameter.buffer && !parameter.positive;
}

/// Elements of a weight vector from `at` on give way to others.
struct WeightEdit {
    std::int64_t at = 0;
    std::int64_t erased = 0;
    std::vector<float> inserted{};
    /// An element whose value is inserted instead, by its place before the edit; -1: none.
    std::int64_t copied = -1;
};

/// Elements that are halfway between the parents.
struct AveragedWeights {
    std::int64_t to = 0;     ///< First element in the child, whose piece is of one parent.
    std::int64_t other = 0;  ///< First element in the other parent.
    std::int64_t count = 0;
    bool of_second = true;  ///< The other parent is the second.
};

/// A changed structure, and what becomes of the weights, one edit after another.
struct Mutant {
    Genome genome;  ///< Its weights mean nothing.
    std::vector<WeightEdit> edits{};
};

/// How a child comes from its parents, worked out without their weights. Keeps its storage; threads
/// have one each.
class ChildPlan {
  public:
    SharedStructure structure;
    /// Of all weights, in order.
    std::vector<WeightPiece> pieces;
    std::vector<float> literals;
    WeightDraws draws;
    std::vector<AveragedWeights> averages;  ///< Each within a piece.
    ValueRules rules;                       ///< Of values that differ one by one.
    std::vector<std::int64_t> matches;      ///< For a crossover to work with.
    std::uint32_t retries = 0;              ///< Structural draws that had no valid outcome.

    /// Begins with the weights of the first parent.
    void begin(SharedStructure first);
    /// Begins with a structure and no pieces: the caller adds them, in order.
    void begin_empty(SharedStructure whole);
    /// Begins with fresh weights.
    void begin_fresh(SharedStructure founder, RandomField fresh);
    /// Goes on with a mutant of the structure; → the structure before.
    SharedStructure become(Mutant mutant);
    /// Whether backends, which know pieces alone, cannot make its weights.
    [[nodiscard]] bool needs_host() const { return !averages.empty() || !rules.ranges.empty(); }
    /// The pieces of some weights, cut to begin and end with them. Valid until the next cut.
    std::span<WeightPiece> range(std::int64_t first, std::int64_t count);
    /// Calls f(parameter, pieces) for each parameter of a gene, with pieces that know what it
    /// starts with.
    template <class F>
    void for_each_parameter(const GeneWeights& gene, const F& f) {
        std::int64_t offset = gene.offset;
        for (const ParameterSpec& parameter : gene_parameters(structure->blueprint(), gene)) {
            f(parameter, parameter_range(parameter, offset));
            offset += parameter.shape.elements();
        }
    }

  private:
    void bring_whole(const ParameterSpec& parameter, std::span<WeightPiece> all);
    void edit(const WeightEdit& edit);
    void edit_averages(const WeightEdit& edit, std::int64_t added);
    /// A piece of one element with what the piece that covers it has.
    [[nodiscard]] WeightPiece copy_of(std::int64_t element) const;
    [[nodiscard]] std::span<WeightPiece> parameter_range(const ParameterSpec& parameter,
                                                         std::int64_t offset);
    /// Index of the piece that begins at an element; one that lies there is cut in two.
    std::size_t cut_at(std::int64_t element);
};

/// Makes the weights of a plan on the host.
void write_weights(const ChildPlan& plan, std::span<const float> first,
                   std::span<const float> second, std::vector<float>& weights);

}  // namespace cambrian::evolve
