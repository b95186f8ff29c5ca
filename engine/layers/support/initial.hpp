#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/layers/support/layer.hpp"

// What parameters start with (layers.md).
namespace cambrian {

[[nodiscard]] InitialRule initial_rule(const ParameterSpec& parameter);
/// Whether elements start with random values.
[[nodiscard]] bool starts_random(const ParameterSpec& parameter);
/// All elements; draws only where they start random.
void fill_initial(const ParameterSpec& parameter, RandomStream& rng, std::span<float> values);

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
