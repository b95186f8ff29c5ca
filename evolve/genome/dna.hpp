#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cambrian/evolve/genome/genome.hpp"

namespace cambrian::evolve {

/// What one layer looks like to a comparison.
struct LayerSignature {
    int slot = 0;  ///< Slot index; slots() for the head.
    std::string type;
    Hash128 structure;  ///< Hash of type, fields and activations.
    bool enabled = true;
    std::vector<float> direction;  ///< Weights divided by their norm; empty for weightless layers.
};

using Dna = std::vector<LayerSignature>;

/// Signatures of every filled slot in index order, then the head.
[[nodiscard]] Dna dna(const Genome& genome);

/// Cosine of two signatures in [-1, 1]: 0 where type or weight count differ; weightless layers of
/// equal structure give 1.
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

/// Comparison of two genomes.
struct Comparison {
    std::vector<SlotOverlap> overlaps;  ///< Slots filled in both.
    double overall = 0.0;  ///< Mean over the union of filled slots; unmatched ones count 0.
    double matched = 0.0;  ///< Mean over the slots filled in both (the strict reference measure).
    std::vector<LogicShift>
        shifts;  ///< One-to-one, overlap above 0.8 and better than staying at home by a margin.
    double distance = 0.0;  ///< See distance().
};

[[nodiscard]] Comparison compare(const Genome& a, const Genome& b);

}  // namespace cambrian::evolve
