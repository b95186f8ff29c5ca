#pragma once

#include <string>
#include <utility>

#include "cambrian/engine/layers/support/layer.hpp"

namespace cambrian {

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
