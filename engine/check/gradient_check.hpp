#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/network/network.hpp"

// Whether a network computes what it should: its gradients against differences of what it gives,
// its steps against its sequences, and a backend against the reference.
namespace cambrian {

struct CheckSettings {
    std::int64_t batch = 3;
    std::int64_t time = 5;        ///< Steps of a sequence, for networks with a state.
    std::int64_t samples = 16;    ///< Elements of a tensor whose slope is measured; 0: all.
    double step = 1e-5;           ///< Of a difference, times max(1, |value|).
    double bound = 1e-5;          ///< Of relative errors of gradients in f64.
    double backend_bound = 1e-3;  ///< Of relative errors of a backend in f32.
    std::uint64_t seed = 1;       ///< Of inputs, of what outputs are weighed by, and of samples.
};

/// What was found of one tensor. An error is the largest difference of two elements over the
/// largest element of either side, at least a ten-thousandth of the largest slope of all tensors.
struct CheckedTensor {
    std::string name;  ///< "input", or as Network::weight_name.
    std::int64_t elements = 0;
    std::int64_t checked = 0;
    /// Of those checked: at a kink, where the slopes on both sides differ and the gradient lies
    /// between them, or where what differs from it grows or vanishes with the step: a jump of the
    /// value, or of the curvature. Not counted as errors.
    std::int64_t kinks = 0;
    double largest = 0.0;  ///< Slope, but over a jump.
    double error = 0.0;
    std::int64_t worst = -1;  ///< The element of that error, what its slope should be, and is.
    double measured = 0.0;
    double computed = 0.0;
};

/// Two ways to compute the same.
struct CheckedPair {
    std::string name;
    double error = 0.0;
    double bound = 0.0;
    [[nodiscard]] bool passed() const { return error <= bound; }
};

struct CheckReport {
    std::vector<CheckedTensor> tensors;
    /// Steps against the sequence in f64 (of a network with a state), then outputs and gradients of
    /// each backend in f32 against f64: over the largest element, of gradients over a thousandth of
    /// the largest of all of them at least.
    std::vector<CheckedPair> pairs;
    double bound = 0.0;  ///< Of the tensors.

    [[nodiscard]] bool passed() const;
};

/// Checks the derivative of Σ output · upstream, for random upstreams, by the weights and by the
/// inputs, in inference: central differences in f64, of up to `samples` elements of each tensor.
/// @param model a form of the network, usually itself.
/// @param backends what to hold against the reference beside it.
/// Throws ShapeError unless there are as many weights as the network has.
[[nodiscard]] CheckReport check_network(const Network& network, const ForwardModel& model,
                                        std::span<const float> weights,
                                        std::span<Backend* const> backends,
                                        const CheckSettings& settings);

}  // namespace cambrian
