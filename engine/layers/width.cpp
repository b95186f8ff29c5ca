#include "cambrian/engine/layers/width.hpp"

#include <array>
#include <cmath>
#include <string>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

namespace {

std::string rows_of(std::int64_t width) {
    return "[.., " + std::to_string(width) + "]";
}

void require_range(std::string_view layer, std::string_view field, std::int64_t width) {
    if (width >= 1 && width <= widest_layer) return;
    throw ShapeError(std::string(layer) + " has " + std::string(field) + " = " +
                     std::to_string(width) + " (a width is 1 to " + std::to_string(widest_layer) +
                     ") set \"" + std::string(field) + "\" to a width in that range");
}

}  // namespace

void resolve_width(std::string_view layer, std::string_view field, std::int64_t& width,
                   std::int64_t input_features) {
    if (width == 0) width = input_features;
    require_range(layer, field, width);
    if (width == input_features) return;
    throw ShapeError(std::string(layer) + " does not fit its input (it takes " + rows_of(width) +
                     ", the input is " + rows_of(input_features) + ") set \"" + std::string(field) +
                     "\" to " + std::to_string(input_features) + " or leave it out");
}

void require_width(std::string_view layer, std::string_view field, std::int64_t width) {
    if (width == 0)
        throw ShapeError(std::string(layer) +
                         " has no output width (nothing after it tells) add \"" +
                         std::string(field) + "\"");
    require_range(layer, field, width);
}

void require_no_fault(std::string_view layer, std::string_view fault) {
    if (fault.empty()) return;
    throw ShapeError(std::string(layer) + " cannot be built (" + std::string(fault) +
                     ") change that field");
}

std::string_view epsilon_fault(float epsilon) {
    return std::isfinite(epsilon) && epsilon > 0.0F ? "" : "epsilon is not a positive number";
}

Var project(Var x, Var weight) {
    if (x.rank() == 2) return matmul(x, weight, false, true);
    const Shape& shape = x.shape();
    std::array<std::int64_t, Shape::max_rank> extents{};
    std::int64_t rows = 1;
    for (int axis = 0; axis + 1 < shape.rank(); ++axis) {
        extents[static_cast<std::size_t>(axis)] = shape[axis];
        rows *= shape[axis];
    }
    const std::int64_t width = shape[-1];
    const auto rank = static_cast<std::size_t>(shape.rank());
    extents[rank - 1] = weight.shape()[0];
    const Var product = matmul(reshape(x, {rows, width}), weight, false, true);
    return reshape(product, Shape(std::span(extents.data(), rank)));
}

}  // namespace cambrian
