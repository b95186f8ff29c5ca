#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cambrian/evolve/genome/distance.hpp"
#include "cambrian/evolve/genome/genome.hpp"

namespace cambrian::evolve {

/// What one layer looks like to a comparison.
struct LayerSignature {
    int slot = 0;  ///< Slot index; slots() for the head.
    std::string type{};
    Hash128 structure{};       ///< Hash of type, fields and activations.
    std::uint64_t wiring = 0;  ///< See wiring_of().
    bool enabled = true;
    std::vector<float>
        direction{};  ///< Weights divided by their norm; empty for weightless layers.
};

using Dna = std::vector<LayerSignature>;

/// Signatures of every filled slot in index order, then the head.
[[nodiscard]] Dna dna(const Genome& genome);

/// Cosine of two signatures in [-1, 1]: 0 where type, wiring or weight count differ; weightless
/// layers of equal structure, and equal directions, give 1 exactly.
[[nodiscard]] double similarity(const LayerSignature& a, const LayerSignature& b);

/// A layer of one network that sits elsewhere in the other.
struct LogicShift {
    int from = 0;
    int to = 0;
    double overlap = 0.0;
};

struct SlotOverlap {
    int slot = 0;
    double overlap = 0.0;
};

/// What is done to the second network before layers are compared.
enum class DnaMode : std::uint8_t {
    strict,  ///< Nothing: weight i is compared with weight i.
    /// Its units get the order in which they are most like the first's, if they are more like them
    /// then than as they are.
    permutation,
};

/// A link of one network and the one between the same places of the other.
struct LinkOverlap {
    Link link;             ///< Of the first network, or of the second where the first has none.
    double overlap = 0.0;  ///< Cosine of their weights; 0 where one network lacks it.
    bool matched = false;
};

/// Comparison of two genomes.
struct Comparison {
    std::vector<SlotOverlap> overlaps;  ///< Slots filled in both.
    double overall = 0.0;  ///< Mean over the union of filled slots; unmatched ones count 0.
    double matched = 0.0;  ///< Mean over the slots filled in both (the strict reference measure).
    std::vector<LogicShift>
        shifts;  ///< One-to-one, overlap above 0.8 and better than staying at home by a margin.
    double distance = 0.0;           ///< See distance().
    std::vector<LinkOverlap> links;  ///< Of both networks.
    double linked = 1.0;             ///< Mean over these; 1 where neither has links.
    std::vector<int> toggled;        ///< Slots that one of the two has disabled.
    double enabled = 1.0;            ///< Share of the slots filled in both that both skip or use.
};

/// @param weights of Comparison::distance.
[[nodiscard]] Comparison compare(const Genome& a, const Genome& b, DnaMode mode = DnaMode::strict,
                                 const DistanceSettings& weights = {});

/// Comparison::overall, of signatures that are there already.
[[nodiscard]] double overall(const Genome& a, const Dna& dna_a, const Genome& b, const Dna& dna_b);

}  // namespace cambrian::evolve
