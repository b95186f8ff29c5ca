#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/weights/inherited_weights.hpp"
#include "cambrian/evolve/genome/structure.hpp"

namespace cambrian::evolve {

struct WeightEdit;

/// How a child comes from its parents, worked out without their weights. Keeps its storage; threads
/// have one each.
class alignas(64) ChildPlan {
  public:
    SharedStructure structure;
    /// Of all weights, in order.
    std::vector<WeightPiece> pieces;
    std::vector<float> literals;
    WeightDraws draws;
    std::uint32_t retries = 0;  ///< Structural draws that had no valid outcome.

    /// Begins with the weights of the first parent.
    void begin(const SharedStructure& first);
    /// Begins with fresh weights.
    void begin_fresh(SharedStructure founder, RandomField fresh);
    /// Lets structures go that children of this plan had before.
    void forget() { known_ = {}; }
    /// Some weights give way to others.
    void edit(const WeightEdit& edit);
    /// The pieces of some weights, cut to begin and end with them. Valid until the next cut.
    std::span<WeightPiece> range(std::int64_t first, std::int64_t count);
    /// The same, cut where its parameters begin, with what those start with.
    std::span<WeightPiece> by_parameter(const GeneWeights& gene);

  private:
    /// A structure that children of this plan had before, with a counter of their own.
    struct Known {
        const Structure* structure = nullptr;
        SharedStructure own;
    };
    static constexpr std::size_t known_count = 16;

    void begin_with(SharedStructure first);
    /// The same structure. Where it is met again it is counted by itself, else threads whose
    /// children share one would wait for each other's counting.
    [[nodiscard]] SharedStructure counted_apart(const SharedStructure& shared);
    /// Index of the piece that begins at an element; one that lies there is cut in two.
    std::size_t cut_at(std::int64_t element);

    std::array<Known, known_count> known_;
};

/// Makes the weights of a plan on the host.
void write_weights(const ChildPlan& plan, std::span<const float> first,
                   std::span<const float> second, std::vector<float>& weights);

}  // namespace cambrian::evolve
