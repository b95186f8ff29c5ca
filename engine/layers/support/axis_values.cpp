#include "cambrian/engine/layers/support/axis_values.hpp"

#include <algorithm>
#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

bool AxisValues::suits(int rank, std::int64_t least) const {
    return (size() == 1 || size() == static_cast<std::size_t>(rank)) &&
           std::ranges::all_of(values, [least](std::int64_t value) {
               return value >= least && value <= widest_layer;
           });
}

PerAxis AxisValues::per_axis() const {
    CAMBRIAN_ASSERT(size() >= 1 && size() <= 3);
    if (size() == 1) return values[0];
    if (size() == 2) return {values[0], values[1]};
    return {values[0], values[1], values[2]};
}

std::int64_t WindowAxis::windows(std::int64_t extent) const {
    const std::int64_t room = extent + 2 * padding - dilation * (kernel - 1) - 1;
    return room < 0 ? 0 : room / stride + 1;
}

std::int64_t WindowAxis::scattered(std::int64_t windows, std::int64_t output_padding) const {
    return (windows - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1;
}

void require_channels(std::string_view layer, const Shape& input, int rank) {
    if (input.rank() == rank + 1) return;
    static constexpr std::array<std::string_view, 3> axes{"[C, L]", "[C, H, W]", "[C, D, H, W]"};
    throw ShapeError(std::string(layer) + " does not fit its input (it takes rows " +
                     std::string(axes[static_cast<std::size_t>(rank - 1)]) + ", the input is " +
                     rows_of(input) + ") give the network an \"input\" of that form");
}

void resolve_channels(std::string_view layer, std::string_view field, std::int64_t& channels,
                      const Shape& input) {
    if (channels == 0) channels = input[0];
    require_range(layer, field, channels);
    if (channels == input[0]) return;
    throw ShapeError(std::string(layer) + " does not fit its input (it takes " +
                     std::to_string(channels) + " channels, the input is " + rows_of(input) +
                     ") set \"" + std::string(field) + "\" to " + std::to_string(input[0]) +
                     " or leave it out");
}

Shape with_channels(std::string_view layer, const Shape& input, std::int64_t channels,
                    const std::vector<std::int64_t>& extents) {
    for (const std::int64_t extent : extents) {
        if (extent >= 1 && extent <= widest_layer) continue;
        throw ShapeError(std::string(layer) + " does not fit its input (of " + rows_of(input) +
                         " an axis of " + std::to_string(extent) +
                         " would be left) change kernel, stride or padding");
    }
    return with_leading(std::array{channels}, Shape(std::span<const std::int64_t>(extents)));
}

}  // namespace cambrian
