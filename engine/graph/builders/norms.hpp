#pragma once

#include <span>

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Normalisations; each is one pass over its rows where a backend fuses fusion groups.
namespace cambrian {

/// x / sqrt(mean(x²) + epsilon) × gain along the last axis.
///
/// Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.
Var rms_norm(Var x, Var gain, double epsilon = 1e-6, Where where = Where::current());

struct SumAndNorm {
    Var sum;     ///< x + residual: the residual of the next block.
    Var normed;  ///< Its rms_norm.
};
SumAndNorm add_rms_norm(Var x, Var residual, Var gain, double epsilon = 1e-6,
                        Where where = Where::current());
/// rms_norm(x) + residual.
Var norm_add(Var x, Var gain, Var residual, double epsilon = 1e-6, Where where = Where::current());

/// (x − mean) / sqrt(variance + epsilon) × gain + bias along the last axis. The variance is the
/// mean of squared deviations, so a large common offset costs no digits.
///
/// Ba, Kiros and Hinton, "Layer Normalization", 2016.
Var layer_norm(Var x, Var gain, Var bias, double epsilon = 1e-5, Where where = Where::current());

/// Gain, bias and statistics of batch norms have the extents of the axes that are not normalised
/// over, in order: [channels] for x [n, channels, rows, columns] over the axes 0, 2 and 3.
struct Statistics {
    Var mean;
    Var variance;
};
struct BatchNormOptions {
    double momentum = 0.1;  ///< Share of the batch in the new running statistics.
    double epsilon = 1e-5;
};
/// With statistics that are given: inference.
///
/// Ioffe and Szegedy, "Batch Normalization", 2015.
Var batch_norm(Var x, Var gain, Var bias, const Statistics& running, std::span<const int> axes,
               const BatchNormOptions& options = {}, Where where = Where::current());
struct TrainedBatchNorm {
    Var output;
    Statistics running;  ///< New ones; no gradient flows through them.
};
/// With the statistics of the batch. Running variances are unbiased (n − 1), as in most libraries.
TrainedBatchNorm batch_norm_training(Var x, Var gain, Var bias, const Statistics& running,
                                     std::span<const int> axes,
                                     const BatchNormOptions& options = {},
                                     Where where = Where::current());

}  // namespace cambrian
