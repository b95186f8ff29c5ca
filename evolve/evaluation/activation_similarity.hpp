#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/evolve/genome/gram.hpp"

namespace cambrian::evolve {

/// Rows that networks are asked about, to see what their layers give.
struct Probe {
    std::int64_t steps = 1;
    std::int64_t batch = 0;
    std::vector<float> rows;  ///< [steps, batch, features]; a network with a state sees the steps.
};
/// Standard normal numbers.
[[nodiscard]] Probe random_probe(std::int64_t features, std::int64_t steps, std::int64_t batch,
                                 std::uint64_t seed);

/// How the rows of a probe lie to each other in what each layer gives: products of all pairs of
/// rows, of features whose mean is 0, as one direction [rows · rows]. Empty for a layer that gives
/// every row the same.
struct ActivationProfile {
    struct Place {
        std::array<int, 4> at{};  ///< Coordinates in the grid; of the head all -1.
        std::vector<double> direction;
    };
    std::vector<Place> places;  ///< Filled slots in their order, then the head.
};
/// Throws InputError where a network gives what is not finite.
[[nodiscard]] ActivationProfile activation_profile(Backend& backend, const Genome& genome,
                                                   const Probe& probe);

/// Linear centred kernel alignment in [0, 1]: the same for any order, turn and scale of features
/// (Kornblith and others, "Similarity of Neural Network Representations Revisited", 2019).
/// Exactly 1 for equal directions, and for two layers that give every row the same; 0 for one.
[[nodiscard]] double linear_cka(const ActivationProfile::Place& a,
                                const ActivationProfile::Place& b);

/// Mean alignment over the places of both networks; places that one of them lacks count 0.
[[nodiscard]] double activation_similarity(const ActivationProfile& a, const ActivationProfile& b);

/// Of all pairs of networks, each of which is asked once.
[[nodiscard]] Gram activation_gram(Backend& backend, std::span<const Genome* const> genomes,
                                   const Probe& probe);

}  // namespace cambrian::evolve
