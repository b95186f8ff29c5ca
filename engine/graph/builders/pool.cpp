#include "cambrian/engine/graph/builders/convolution.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"
#include "cambrian/engine/graph/window_geometry.hpp"

namespace cambrian {
namespace {

using Extents = std::vector<std::int64_t>;

Shape window_shape(const Extents& extents) {
    return Shape(std::span<const std::int64_t>(extents));
}

/// For each window the number of taps that are no padding.
Tensor tap_counts(const WindowGeometry& geometry, int rank) {
    Tensor counts(ValueType::real,
                  Shape(std::span(geometry.positions).last(static_cast<std::size_t>(rank))));
    std::array<std::vector<double>, Window::max_rank> along;
    for (std::size_t axis = 0; axis < along.size(); ++axis) {
        along[axis].resize(static_cast<std::size_t>(geometry.positions[axis]));
        for (std::int64_t tap = 0; tap < geometry.kernel[axis]; ++tap) {
            const auto [begin, end] = geometry.inside_windows(axis, tap);
            for (std::int64_t o = begin; o < end; ++o)
                along[axis][static_cast<std::size_t>(o)] += 1;
        }
    }
    std::size_t next = 0;
    for (const double z : along[0])
        for (const double y : along[1])
            for (const double x : along[2]) counts.elements[next++] = z * y * x;
    return counts;
}

/// Windows of a pool and the axis of their taps.
struct PoolWindows {
    Window window;
    Var taps;
    int axis = 0;
};
PoolWindows pool_windows(Var x, const PerAxis& kernel, const PoolOptions& options, Padding padding,
                         Where where) {
    const std::span<const Var> operands(&x, 1);
    const ConvOptions sliding{.stride = options.stride,
                              .dilation = options.dilation,
                              .before = options.before,
                              .after = options.after};
    Window window = AxisReader(Op::im2col, operands, kernel.count(), where).window(kernel, sliding);
    for (std::size_t i = 0; i < static_cast<std::size_t>(window.rank); ++i)
        if (window.stride[i] == 0) window.stride[i] = window.kernel[i];
    const Var taps = x.graph->add(Op::im2col, operands,
                                  Im2colAttribute{.window = window, .padding = padding}, where);
    return {window, taps, x.rank() - window.rank};
}

}  // namespace

Var max_pool(Var x, const PerAxis& kernel, const PoolOptions& options, Where where) {
    const PoolWindows windows = pool_windows(x, kernel, options, Padding::lowest, where);
    return reduce_max(windows.taps, windows.axis, false, where);
}

Var average_pool(Var x, const PerAxis& kernel, const PoolOptions& options, bool count_padding,
                 Where where) {
    const PoolWindows windows = pool_windows(x, kernel, options, Padding::zero, where);
    const Operand sum(reduce_sum(windows.taps, windows.axis, false, where), where);
    const WindowGeometry geometry = window_geometry(windows.window, x.shape().extents());
    if (count_padding) return sum / static_cast<double>(geometry.taps());
    Tensor counts = tap_counts(geometry, windows.window.rank);
    if (std::ranges::find(counts.elements, 0.0) != counts.elements.end())
        fail_node(Op::im2col, std::array{x},
                  "(a window reads nothing but padding, which is not counted) use less padding",
                  where);
    return sum / Operand(x.graph->constant(std::move(counts)), where);
}

Var upsample_nearest(Var x, const PerAxis& factors, Where where) {
    const int rank = factors.count();
    const auto repeats =
        AxisReader(Op::broadcast, std::array{x}, rank, where).numbers("the factors", factors);
    if (x.rank() < rank ||
        std::ranges::any_of(std::span(repeats).first(static_cast<std::size_t>(rank)),
                            [](std::int64_t factor) { return factor < 1; }))
        fail_node(
            Op::broadcast, std::array{x},
            "(it cannot repeat elements along " + std::to_string(rank) +
                " axes by these factors) use factors from 1 on, one for each of its last axes",
            where);
    const auto extents = x.shape().extents();
    Extents whole(extents.begin(), extents.end() - rank);
    const std::int64_t images = window_shape(whole).elements();
    Extents single{images};
    Extents repeated{images};
    for (int axis = 0; axis < rank; ++axis) {
        const std::int64_t extent = x.shape()[axis - rank];
        const std::int64_t factor = repeats[static_cast<std::size_t>(axis)];
        single.insert(single.end(), {extent, 1});
        repeated.insert(repeated.end(), {extent, factor});
    }
    // The result has as many elements: its extents fit where this is a shape.
    const Shape spread_shape =
        checked(Op::broadcast, x, where, [&] { return window_shape(repeated); });
    const Var spread = broadcast(reshape(x, window_shape(single), where), spread_shape, where);
    for (int axis = 0; axis < rank; ++axis)
        whole.push_back(x.shape()[axis - rank] * repeats[static_cast<std::size_t>(axis)]);
    return reshape(spread, window_shape(whole), where);
}

}  // namespace cambrian
