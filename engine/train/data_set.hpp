#pragma once

#include <cstdint>

#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian {

/// Examples on the host: what a network sees and what it should answer, one row each.
struct Samples {
    Tensor inputs;   ///< [rows, features], or [rows, time, features] of sequences.
    Tensor targets;  ///< [rows, (time,) outputs] numbers, or [rows, (time)] class indices. Without
                     ///< the axis of time beside sequences: of their last step.

    [[nodiscard]] std::int64_t rows() const {
        return inputs.shape.rank() == 0 ? 0 : inputs.shape[0];
    }
};

/// What training learns from and what it is watched with.
struct DataSet {
    Samples train;
    Samples validation;  ///< May be without rows, like the next.
    Samples test;
    std::int64_t outputs = 0;  ///< Values that a network answers: numbers, or logits of classes.
};

}  // namespace cambrian
