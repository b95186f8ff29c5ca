#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cambrian/engine/core/prefetch.hpp"
#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/bytecode/row_words.hpp"

/// Products of packed matrices and words.
namespace cambrian::cpu::bytecode {

constexpr std::int64_t block = 4;
/// Weights of a population are read once each and in turn, in stretches too short for a processor
/// to foresee: so many are asked for ahead of their use.
constexpr std::int64_t weights_ahead = 2048;

/// `blocks` blocks of four outputs: to[output] = 0 + Σ_k x[k] w[k] for every row, in ascending k,
/// plus the bias after the weights of the block. Blocks are `stride` words apart.
template <int lanes, int blocks, bool bias>
void product_tile(const RowsOfOne<lanes>& words, const float* x, const float* weights,
                  std::int64_t stride, std::int64_t in, float* to) {
    if constexpr (lanes == 1) {
        // A single row: the four outputs of a block are the lanes.
        Vector<4> sums[static_cast<std::size_t>(blocks)]{};
        for (std::int64_t k = 0; k < in; ++k) {
            prefetch(weights + weights_ahead + blocks * block * k);
            for (std::int64_t b = 0; b < blocks; ++b)
                sums[b] = sums[b] + load<4>(weights + b * stride + block * k) * x[k];
        }
        for (std::int64_t b = 0; b < blocks; ++b) {
            if constexpr (bias) sums[b] = sums[b] + load<4>(weights + b * stride + block * in);
            store<4>(to + block * b, sums[b]);
        }
    } else {
        Vector<lanes> sums[static_cast<std::size_t>(blocks)][block]{};
        for (std::int64_t k = 0; k < in; ++k) {
            const Vector<lanes> value = words.at(x, k);
            for (std::int64_t b = 0; b < blocks; ++b)
                for (std::int64_t j = 0; j < block; ++j)
                    sums[b][j] = sums[b][j] + value * weights[b * stride + block * k + j];
        }
        for (std::int64_t b = 0; b < blocks; ++b)
            for (std::int64_t j = 0; j < block; ++j) {
                if constexpr (bias) sums[b][j] = sums[b][j] + weights[b * stride + block * in + j];
                if (b + 1 == blocks && j + 1 == block)
                    words.put_last(to, block * b + j, sums[b][j]);
                else
                    words.put(to, block * b + j, sums[b][j]);
            }
    }
}

template <bool bias, int lanes>
void product(const RowsOfOne<lanes>& words, const float* x, const float* weights,
             std::int64_t stride, std::int64_t in, std::int64_t out, float* to) {
    // As many chains of additions as registers hold: a chain alone waits for itself.
    constexpr int tile = lanes == 1 ? 4 : 2;
    std::int64_t blocks = (out + block - 1) / block;
    for (; blocks >= tile; blocks -= tile) {
        product_tile<lanes, tile, bias>(words, x, weights, stride, in, to);
        weights += tile * stride;
        to += tile * block * words.size();
    }
    for (; blocks > 0; --blocks) {
        product_tile<lanes, 1, bias>(words, x, weights, stride, in, to);
        weights += stride;
        to += block * words.size();
    }
}

/// The same sums of `outputs` outputs of one block for some vectors of words from `first` on: a
/// weight, or a vector of weights of many networks, serves every one.
template <std::size_t outputs, bool bias, class Words>
void vectors_tile(const float* x, const float* weights, std::int64_t in, std::int64_t first,
                  float* to) {
    constexpr auto rows = static_cast<std::size_t>(vectors_at_once<Words>);
    Vector<max_lanes> sums[outputs][rows];
    unrolled<outputs * rows>([&](auto i) __attribute__((always_inline)) {
        sums[i / rows][i % rows] = Vector<max_lanes>{};
    });
    for (std::int64_t k = 0; k < in; ++k) {
        decltype(Words::weight(weights, 0)) own[outputs];
        unrolled<outputs>([&](auto j) __attribute__((always_inline)) {
            own[j] = Words::weight(weights, block * k + static_cast<std::int64_t>(j.value));
        });
        unrolled<rows>([&](auto row) __attribute__((always_inline)) {
            const Vector<max_lanes> value =
                Words::at(x, k, first + static_cast<std::int64_t>(row.value));
            unrolled<outputs>([&](auto j) __attribute__((always_inline)) {
                sums[j][row] = sums[j][row] + value * own[j];
            });
        });
    }
    unrolled<outputs>([&](auto j) __attribute__((always_inline)) {
        constexpr auto output = static_cast<std::int64_t>(decltype(j)::value);
        unrolled<rows>([&](auto row) __attribute__((always_inline)) {
            if constexpr (bias)
                sums[j][row] = sums[j][row] + Words::weight(weights, block * in + output);
            Words::put(to, output, first + static_cast<std::int64_t>(row.value), sums[j][row]);
        });
    });
}

template <bool bias, class Words>
void product(const Words& words, const float* x, const float* weights, std::int64_t stride,
             std::int64_t in, std::int64_t out, float* to) {
    // What sums leave of the registers holds the operands.
    constexpr std::size_t tile = vectors_at_once<Words> <= 2 ? 4 : 2;
    constexpr auto step = static_cast<std::int64_t>(tile);
    const auto sums = [&]<std::size_t outputs>(std::integral_constant<std::size_t, outputs>,
                                               std::int64_t j) {
        for (std::int64_t v = 0; v < Words::vectors(); v += vectors_at_once<Words>)
            vectors_tile<outputs, bias, Words>(x, Words::weights(weights, j), in, v, to);
        to += static_cast<std::int64_t>(outputs) * words.size();
    };
    for (std::int64_t first = 0; first < out; first += block) {
        const std::int64_t end = std::min(out - first, block);
        std::int64_t j = 0;
        for (; j + step <= end; j += step) sums(std::integral_constant<std::size_t, tile>(), j);
        for (; j < end; ++j) sums(std::integral_constant<std::size_t, 1>(), j);
        weights = Words::weights(weights, stride);
    }
}

}  // namespace cambrian::cpu::bytecode
