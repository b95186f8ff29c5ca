#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cambrian/engine/weights/quantised_matrix.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"

// Networks in the number formats of their layers.
namespace cambrian::evolve {

/// What a format makes of one weight tensor.
struct TensorError {
    std::string name;
    Dtype dtype = Dtype::float32;
    MatrixExtents extents;
    std::int64_t bytes = 0;
    QuantisationError error;
};
/// Of every tensor that a format holds, in the order of the weights.
[[nodiscard]] std::vector<TensorError> tensor_errors(const Genome& genome);

/// All layers in one format; theirs are replaced.
[[nodiscard]] Genome with_formats(Genome genome, const LayerFormats& formats);

/// The clips that calibration tries, shares of the range of each group of a tensor.
inline constexpr std::array<double, 10> calibration_clips{0.95, 0.9,  0.85, 0.8, 0.75,
                                                          0.7,  0.65, 0.6,  0.5, 0.4};

/// The clip chosen for a tensor.
struct ChosenClip {
    std::string name;
    double clip = 1.0;
    double fitness = 0.0;  ///< With it and the choices before it.
};
struct CalibratedNetwork {
    Genome genome;
    std::vector<ChosenClip> clips;
};
/// Chooses for one tensor after the other, in the order of the weights, the clip with which the
/// network in its formats is fittest on a round of its task, or none where no clip is better, which
/// leaves its masters as they are. Others absorb the clip (absorb_clip()), so that no file holds
/// one: they are compared as any evaluation rounds them. Later tensors see what was chosen for
/// earlier ones. Fitness never falls on that round.
[[nodiscard]] CalibratedNetwork calibrated(Evaluator& evaluator, Genome genome,
                                           const EvaluationRound& round);

}  // namespace cambrian::evolve
