#pragma once

#include "cambrian/engine/graph/builders/convolution.hpp"

// Pools over the last one to three axes, and their opposite.
namespace cambrian {

/// How a pool slides.
struct PoolOptions {
    PerAxis stride = 0;  ///< 0: the kernel.
    PerAxis dilation = 1;
    PerAxis before = 0;
    PerAxis after = 0;
};
/// The largest element of each window over the last axes, padding below all others; its gradient
/// goes to the first maximum. The kernel gives the rank: one number for each axis.
Var max_pool(Var x, const PerAxis& kernel, const PoolOptions& options = {},
             Where where = Where::current());
/// The mean of each window. Padding counts as zeros, or is left out of the sum and of the count.
Var average_pool(Var x, const PerAxis& kernel, const PoolOptions& options = {},
                 bool count_padding = true, Where where = Where::current());

/// Repeats every element of the last axes: one factor for each axis.
Var upsample_nearest(Var x, const PerAxis& factors, Where where = Where::current());

}  // namespace cambrian
