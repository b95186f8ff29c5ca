#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cambrian/evolve/genome/genome.hpp"

namespace cambrian::evolve {

/// How what a graft brings is combined with what was there.
enum class GraftCombine : std::uint8_t {
    concat,   ///< Side by side, then a layer of weights that begins as what was there alone.
    add,      ///< The sum.
    average,  ///< The mean.
    filter,   ///< By a gate, which begins with equal shares: the mean.
};
inline constexpr std::array<std::string_view, 4> graft_combine_names{"concat", "add", "average",
                                                                     "filter"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(GraftCombine) {
    return graft_combine_names;
}

struct GraftSettings {
    /// Instead of `combine`: y = a(x) + gain · W b(..), W the identity, or as much of it as there
    /// is between other widths; all of it weights of their own. With a gain of 0 the child is the
    /// stock.
    bool residual = false;
    GraftCombine combine = GraftCombine::average;
    float gain = 0.0F;
    /// Slot of the stock. None: whole networks, which read the same inputs and answer as many
    /// outputs.
    std::optional<int> at{};
    std::optional<int> from{};  ///< Slot of the scion; none: as `at`.
};

/// A network with a part of another one, or with all of it, in it: all weights are copies.
///
/// Of whole networks the child has one layer in which both are branches, and a dense head that
/// begins as the identity (`concat`: of the stock's outputs); residual: y = stock(x) + gain ·
/// scion(x). They must be chains without links.
///
/// In a slot, the stock's layer f becomes the combination of f with the scion's layer g, both on
/// the input of f; residual: z = f(x), y = z + gain · W g(z). All else stays the stock's.
/// @param stock whose genes, inputs and outputs the child has.
/// @param scion what is brought.
/// Throws ConfigError where the two do not fit, which says why.
[[nodiscard]] Genome graft(const Genome& stock, const Genome& scion, const GraftSettings& settings);

}  // namespace cambrian::evolve
