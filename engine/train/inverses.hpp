#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/train/training_settings.hpp"

// The learned inverses of difference target propagation: from what a slot gives back to what it
// read.
namespace cambrian {

/// g(u) = activation(weight u + bias) of one slot: from all elements that a row of it has to those
/// that it reads of other slots, one read after the other. Empty slots, those that are passed by,
/// those that read ids or nothing but the port, and the head have none.
struct Inverse {
    int slot = 0;
    std::int64_t given = 0;  ///< Elements of a row of the slot.
    std::int64_t read = 0;   ///< Elements that it reads.
    std::int64_t offset =
        0;  ///< Of weight [read, given], before bias [read], in the vector of all.

    [[nodiscard]] std::int64_t count() const { return read * given + read; }
};

/// Those of a network, by slot. Throws ConfigError where they are too large for any memory.
[[nodiscard]] std::vector<Inverse> inverses_of(const Network& network);
/// Weights of all of them together.
[[nodiscard]] std::int64_t weight_count(std::span<const Inverse> inverses);
/// What they start with: weights as those of layers, biases of 0.
[[nodiscard]] std::vector<float> initial_weights(std::span<const Inverse> inverses,
                                                 Activation activation, RandomStream& rng);

/// The tensors of all inverses, as they lie in a vector: weight and bias of each.
[[nodiscard]] std::vector<Var> inverse_parts(std::span<const Inverse> inverses, Var weights);
/// given [rows, given] → [rows, read].
[[nodiscard]] Var invert(const Inverse& inverse, Var weight, Var bias, Activation activation,
                         Var given);

}  // namespace cambrian
