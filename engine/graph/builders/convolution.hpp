#pragma once

#include <initializer_list>
#include <span>

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Windows that slide over the last one to three axes, and convolutions, which are made of them.
// Values are [.., channels, axes]; leading axes are independent images. ShapeErrors name the
// operands and the caller's location.
namespace cambrian {

/// A number for each axis of a window. One number stands for all axes.
class PerAxis {
  public:
    PerAxis(std::int64_t all) : values_{all}, count_(1) {}
    PerAxis(int all) : PerAxis(std::int64_t{all}) {}
    PerAxis(std::initializer_list<std::int64_t> each);
    /// Numbers given: 1 stands for any rank.
    [[nodiscard]] int count() const { return count_; }
    [[nodiscard]] std::int64_t operator[](int axis) const {
        return values_[static_cast<std::size_t>(count_ == 1 ? 0 : axis)];
    }

  private:
    Window::Extents values_{};
    int count_ = 0;  ///< Above 3 for too many, which is left to whoever reads them to report.
};

/// How a window slides, see Window.
struct ConvOptions {
    PerAxis stride = 1;
    PerAxis dilation = 1;
    PerAxis before = 0;  ///< Padding before each axis.
    PerAxis after = 0;   ///< Padding after each axis.
    std::int64_t groups = 1;
};

/// x [.., s1 .. sr] → [.., taps, o1 .. or]: what each tap of each window reads, taps row-major in
/// the kernel. The kernel gives the rank: one number for each axis.
Var im2col(Var x, const PerAxis& kernel, const ConvOptions& options = {},
           Padding padding = Padding::zero, Where where = Where::current());
/// The adjoint: taps [.., taps, o1 .. or] added into zeros [.., extents], those of one element in
/// order of tap.
Var col2im(Var taps, const PerAxis& kernel, const PerAxis& extents, const ConvOptions& options = {},
           Where where = Where::current());

/// x [.., C, s1 .. sr], weights [O, C / groups, k1 .. kr] and bias [O] → [.., O, o1 .. or]. The
/// weights give the rank and the kernel. The kernel is not flipped.
Var conv(Var x, Var weights, const ConvOptions& options = {}, Where where = Where::current());
Var conv(Var x, Var weights, Var bias, const ConvOptions& options = {},
         Where where = Where::current());

/// The adjoint of conv with the same weights and options: x [.., O, o1 .. or], weights
/// [O, C / groups, k1 .. kr] and bias [C] → [.., C, s1 .. sr] with s = (o − 1) × stride − before −
/// after + dilation × (kernel − 1) + 1 + output_padding. The output padding, less than the stride,
/// chooses among the extents that conv takes to the same o.
Var conv_transpose(Var x, Var weights, const ConvOptions& options = {},
                   const PerAxis& output_padding = 0, Where where = Where::current());
Var conv_transpose(Var x, Var weights, Var bias, const ConvOptions& options = {},
                   const PerAxis& output_padding = 0, Where where = Where::current());

/// A filter over time for each feature: x [.., T, D], weights [D, K] and bias [D] → [.., T, D],
/// y[t, d] = Σ over k < K of weights[d, k] x[t − (K − 1) + k, d] + bias[d], x zero before time 0.
Var causal_conv1d(Var x, Var weights, Where where = Where::current());
Var causal_conv1d(Var x, Var weights, Var bias, Where where = Where::current());

/// Reads options for the axes of one op; throws ShapeError with the caller's location. Internal to
/// engine/graph.
class AxisReader {
  public:
    AxisReader(Op op, std::span<const Var> operands, int rank, Where where);

    /// One number for each axis, zeros after them.
    [[nodiscard]] Window::Extents numbers(const char* what, const PerAxis& values) const;
    [[nodiscard]] Window window(const PerAxis& kernel, const ConvOptions& options) const;

  private:
    Op op_;
    std::span<const Var> operands_;
    int rank_;
    Where where_;
};

// Pools over the last one to three axes, and their opposite.

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
