#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/layers/support/layer.hpp"

// What parameters start with (layers.md).
namespace cambrian {

/// Of elements one by one: where a whole is more than its elements (starts_whole), what a single
/// one starts with that is drawn afresh later.
[[nodiscard]] InitialRule initial_rule(const ParameterSpec& parameter);
/// Whether elements start with random values.
[[nodiscard]] bool starts_random(const ParameterSpec& parameter);
/// Whether elements depend on each other, so that a whole parameter is made at once, on the host:
/// orthogonal matrices.
[[nodiscard]] bool starts_whole(const ParameterSpec& parameter);
/// All elements; draws only where they start random.
void fill_initial(const ParameterSpec& parameter, RandomStream& rng, std::span<float> values);
/// The same from uniforms in [0, 1), one for each element, in their place.
void initial_from_uniforms(const ParameterSpec& parameter, std::span<float> values);
/// Makes a matrix [first axis, all others] of independent normals one whose rows (columns, where
/// these are fewer) are orthogonal with a length of `scale`: by Gram and Schmidt, twice, in double,
/// in a fixed order.
void make_orthogonal(const Shape& shape, float scale, std::span<float> values);

/// The spec of a matrix of a recurrent layer.
[[nodiscard]] inline ParameterSpec recurrent_weight(std::string name, std::int64_t rows,
                                                    std::int64_t columns) {
    return {.name = std::move(name),
            .shape = {rows, columns},
            .initial = Initial::weight,
            .fan_in = columns,
            .activation = Activation::tanh};
}

}  // namespace cambrian
