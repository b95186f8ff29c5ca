#pragma once

#include <type_traits>

#include "cambrian/engine/layers/any_layer.hpp"

// Kinds of layers: by what they have where that tells, so that a new type needs no list.
namespace cambrian::evolve {

/// Transposed ones, too.
template <class L>
constexpr bool is_convolution = requires(L layer) {
    layer.in_channels;
    layer.out_channels;
    layer.groups;
};
template <class L>
constexpr bool is_transposed = is_convolution<L>&& requires(L layer) {
    layer.output_padding;
};

/// Whether its state is its output.
template <class L>
constexpr bool is_recurrent = requires(L layer) {
    layer.in;
    layer.hidden;
};

/// Without weights, on each channel by itself.
template <class L>
constexpr bool is_pool =
    std::is_same_v<L, Dropout> || std::is_same_v<L, MaxPool2d> || std::is_same_v<L, AveragePool2d>;

}  // namespace cambrian::evolve
