#include "cambrian/engine/network/blueprint.hpp"

#include <algorithm>
#include <string>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

namespace {

void check_coordinate(const char* axis, int value, int extent) {
    if (value >= 0 && value < extent) return;
    throw ShapeError("coordinate " + std::string(axis) + " = " + std::to_string(value) +
                     " is outside the grid (its extent is " + std::to_string(extent) +
                     ") use 0 to " + std::to_string(extent - 1));
}

}  // namespace

int GridSize::index(int z, int y, int x, int l) const {
    check_coordinate("z", z, depth);
    check_coordinate("y", y, rows);
    check_coordinate("x", x, cols);
    check_coordinate("l", l, layers_per_cell);
    return ((z * rows + y) * cols + x) * layers_per_cell + l;
}

std::array<int, 4> GridSize::coordinates(int index) const {
    check_coordinate("slot", index, slots());
    const int cell = index / layers_per_cell;
    return {cell / cols / rows, cell / cols % rows, cell % cols, index % layers_per_cell};
}

Shape input_row(const Blueprint& blueprint) {
    return blueprint.input_shape.rank() == 0 ? Shape{blueprint.input_features}
                                             : blueprint.input_shape;
}

GridSize one_cell(std::size_t layers) {
    constexpr std::size_t least = 4;
    return {.layers_per_cell = static_cast<int>(std::max(least, layers))};
}

void check(const GridSize& grid) {
    std::int64_t slots = 1;
    for (const int extent : {grid.depth, grid.rows, grid.cols, grid.layers_per_cell}) {
        if (extent < 1)
            throw ShapeError("the grid has an extent of " + std::to_string(extent) +
                             " (every extent counts cells or layers) use 1 or more");
        slots *= extent;
        if (slots > largest_grid)
            throw ShapeError("the grid is too large (more than " + std::to_string(largest_grid) +
                             " slots) use smaller extents");
    }
}

}  // namespace cambrian
