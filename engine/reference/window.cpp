#include <limits>

#include "cambrian/engine/graph/window_geometry.hpp"
#include "cambrian/engine/reference/kernels.hpp"

// Windows: what their taps read, and the way back.
namespace cambrian::reference {
namespace {

/// Calls each(tap position, element position or -1 in the padding) for all planes, in order of
/// plane, tap and window.
template <class Each>
void for_each_tap(const WindowGeometry& window, std::size_t planes, Each&& each) {
    const Window::Extents& k = window.kernel;
    const Window::Extents& o = window.positions;
    const Window::Extents& s = window.inside;
    std::size_t position = 0;
    for (std::size_t plane = 0; plane < planes; ++plane)
        for (std::int64_t tap = 0; tap < window.taps(); ++tap)
            for (std::int64_t at = 0; at < window.windows(); ++at, ++position) {
                const std::int64_t z = window.element(0, at / (o[1] * o[2]), tap / (k[1] * k[2]));
                const std::int64_t y = window.element(1, at / o[2] % o[1], tap / k[2] % k[1]);
                const std::int64_t x = window.element(2, at % o[2], tap % k[2]);
                const bool inside = z >= 0 && z < s[0] && y >= 0 && y < s[1] && x >= 0 && x < s[2];
                const auto first = static_cast<std::int64_t>(plane) * window.elements();
                each(position, inside ? first + (z * s[1] + y) * s[2] + x : -1);
            }
}

}  // namespace

void im2col(const Call& call) {
    const auto& attribute = call.attribute<Im2colAttribute>();
    const WindowGeometry window =
        window_geometry(attribute.window, call.operand_info(0).shape.extents());
    const double outside =
        attribute.padding == Padding::lowest ? -std::numeric_limits<double>::infinity() : 0.0;
    if (call.result().empty()) return;
    const auto taps = static_cast<std::size_t>(window.taps() * window.windows());
    for_each_tap(window, call.result().size() / taps,
                 [&](std::size_t position, std::int64_t element) {
                     call.result()[position] =
                         element < 0 ? outside : call.operand()[static_cast<std::size_t>(element)];
                 });
}

void col2im(const Call& call) {
    const WindowGeometry window = window_geometry(call.attribute<Im2colAttribute>().window,
                                                  call.result_info().shape.extents());
    if (call.operand().empty()) return;
    const auto taps = static_cast<std::size_t>(window.taps() * window.windows());
    for_each_tap(window, call.operand().size() / taps,
                 [&](std::size_t position, std::int64_t element) {
                     if (element < 0) return;
                     double& target = call.result()[static_cast<std::size_t>(element)];
                     target = sum(target, call.operand()[position], call.precision);
                 });
}

}  // namespace cambrian::reference
