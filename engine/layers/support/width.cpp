#include "cambrian/engine/layers/support/width.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian {

namespace {

/// How many last axes have `width` elements together: all, or the fewest; -1 when none do.
int last_axes(const Shape& row, std::int64_t width) {
    if (row.elements() == width) return row.rank();
    std::int64_t elements = 1;
    for (int axes = 1; axes <= row.rank() && elements <= width; ++axes) {
        elements *= row[-axes];
        if (elements == width) return axes;
    }
    return -1;
}

[[noreturn]] void fail_width(std::string_view layer, std::string_view field, std::int64_t width,
                             const Shape& input) {
    throw ShapeError(std::string(layer) + " does not fit its input (it takes " + rows_of(width) +
                     ", the input is " + rows_of(input) + ") set \"" + std::string(field) +
                     "\" to " + std::to_string(input.elements()) + " or leave it out");
}

void fill_width(std::string_view layer, std::string_view field, std::int64_t& width,
                const Shape& input) {
    if (width == 0) width = input.elements();
    require_range(layer, field, width);
}

}  // namespace

std::string rows_of(const Shape& row) {
    std::string text = "[..";
    for (const std::int64_t extent : row.extents()) text += ", " + std::to_string(extent);
    return text + "]";
}

std::string rows_of(std::int64_t width) {
    return rows_of(Shape{width});
}

Shape flat(const Shape& row) {
    return Shape{row.elements()};
}

void require_range(std::string_view layer, std::string_view field, std::int64_t width) {
    if (width >= 1 && width <= widest_layer) return;
    throw ShapeError(std::string(layer) + " has " + std::string(field) + " = " +
                     std::to_string(width) + " (a width is 1 to " + std::to_string(widest_layer) +
                     ") set \"" + std::string(field) + "\" to a width in that range");
}

void resolve_width(std::string_view layer, std::string_view field, std::int64_t& width,
                   const Shape& input) {
    fill_width(layer, field, width, input);
    if (last_axes(input, width) < 0) fail_width(layer, field, width, input);
}

void resolve_whole_row(std::string_view layer, std::string_view field, std::int64_t& width,
                       const Shape& input) {
    fill_width(layer, field, width, input);
    if (width != input.elements()) fail_width(layer, field, width, input);
}

Shape with_width(const Shape& input, std::int64_t in, std::int64_t out) {
    const int axes = last_axes(input, in);
    CAMBRIAN_ASSERT(axes > 0);
    return with_leading(input.extents().first(static_cast<std::size_t>(input.rank() - axes)),
                        Shape{out});
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
    return std::isfinite(epsilon) && epsilon >= std::numeric_limits<float>::min()
               ? ""
               : "epsilon is a positive number, 1.2e-38 at least";
}

std::string_view temperature_fault(float temperature) {
    constexpr float smallest = 1e-15F;  // The inverse of its square is a float.
    return std::isfinite(temperature) && temperature >= smallest
               ? ""
               : "temperature is a positive number, 1e-15 at least";
}

Var as_vectors(Var x, std::int64_t width, const Shape& row) {
    return row.rank() <= 1 ? x : shape_rows(x, row.rank(), with_width(row, width, width));
}

Var shaped(Var x, const Shape& shape) {
    return x.shape() == shape ? x : reshape(x, shape);
}

Var shape_rows(Var x, int row_rank, const Shape& to) {
    const auto extents = x.shape().extents();
    return shaped(
        x, with_leading(extents.first(extents.size() - static_cast<std::size_t>(row_rank)), to));
}

Shape with_leading(std::span<const std::int64_t> leading, const Shape& row) {
    std::vector<std::int64_t> extents(leading.begin(), leading.end());
    extents.insert(extents.end(), row.extents().begin(), row.extents().end());
    return Shape(std::span<const std::int64_t>(extents));
}

Var project(Var x, Var weight) {
    if (x.rank() == 2) return matmul(x, weight, false, true);
    const std::int64_t in = x.shape()[-1];
    const Var product = matmul(reshape(x, {x.shape().elements() / in, in}), weight, false, true);
    const auto leading = x.shape().extents().first(static_cast<std::size_t>(x.rank() - 1));
    return reshape(product, with_leading(leading, Shape{weight.shape()[0]}));
}

}  // namespace cambrian
