#pragma once

#include <cstdint>
#include <string>

#include "cambrian/engine/network/network.hpp"

// The programs of a generation. Inputs meet by name: "weights" of each network, "codes" where some
// of them are packed (network/packed_weights.hpp: activations, then words), "tokens", one for each
// prompt, "position", how many tokens a prompt had before, and the states of the network as
// state_name() says. With several networks each has its own of all of them.
namespace cambrian::generation_graphs {

/// Prompts that are continued at once, by so many networks of one structure.
struct Batch {
    std::int64_t prompts = 1;
    std::int64_t networks = 1;

    [[nodiscard]] bool several() const { return networks > 1; }
};

/// The network with caches of so many positions in place of windows; weights are the same.
[[nodiscard]] Network with_cache(const Network& network, std::int64_t positions);
/// Positions of the longest sequence that a network takes; 0: any.
[[nodiscard]] std::int64_t longest_sequence(const Network& network);
/// Whether all states are caches and positions, so that a pass over a sequence can fill them.
[[nodiscard]] bool fills_by_sequence(const Network& cached);

/// Name of state number `index` of the network; all that hold positions are one input.
[[nodiscard]] std::string state_name(const Network& cached, std::size_t index);

/// One token of each prompt → logits [prompts, vocabulary]. States are updated in place.
[[nodiscard]] Graph step(const Network& cached, const Batch& batch);
/// "prompt" [prompts, time] from the first token on, of which "position" count → the content of the
/// caches, in order of their states; what is after these tokens is zero.
[[nodiscard]] Graph prefill(const Network& cached, const Batch& batch, std::int64_t time);
/// Without caches: "prompt" [prompts, time] → logits [prompts, vocabulary] of the token at
/// "position".
[[nodiscard]] Graph whole(const Network& network, const Batch& batch, std::int64_t time);
/// Caches of `from` → those of `to`, which have more positions.
[[nodiscard]] Graph grow(const Network& from, const Network& to, const Batch& batch);

/// The network's own state number `index`, of all prompts: [prompts, shape..].
[[nodiscard]] Shape state_shape(const Network& cached, std::size_t index, const Batch& batch);

}  // namespace cambrian::generation_graphs
