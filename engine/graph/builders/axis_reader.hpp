#pragma once

#include <span>

#include "cambrian/engine/graph/builders/convolution.hpp"

// How the builders of windows read what they are given. Internal to engine/graph.
namespace cambrian {

/// Reads options for the axes of one op; throws ShapeError with the caller's location.
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

}  // namespace cambrian
