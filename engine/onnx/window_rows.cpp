#include <cmath>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/window_geometry.hpp"
#include "cambrian/engine/onnx/node_writer.hpp"

// Windows and casts as nodes of ONNX.
namespace cambrian::onnx {
namespace {

using Extents = std::vector<std::int64_t>;

/// For every tap, and then every window, the element that it reads, or `outside`.
Extents read_elements(const WindowGeometry& window, std::int64_t outside) {
    const Window::Extents& k = window.kernel;
    const Window::Extents& o = window.positions;
    const Window::Extents& s = window.inside;
    Extents elements;
    for (std::int64_t tap = 0; tap < window.taps(); ++tap)
        for (std::int64_t at = 0; at < window.windows(); ++at) {
            const std::int64_t z = window.element(0, at / (o[1] * o[2]), tap / (k[1] * k[2]));
            const std::int64_t y = window.element(1, at / o[2] % o[1], tap / k[2] % k[1]);
            const std::int64_t x = window.element(2, at % o[2], tap % k[2]);
            const bool inside = z >= 0 && z < s[0] && y >= 0 && y < s[1] && x >= 0 && x < s[2];
            elements.push_back(inside ? (z * s[1] + y) * s[2] + x : outside);
        }
    return elements;
}

/// The operand with its last `axes` axes as one, and a further element `outside` at its end.
std::string flat_planes(const NodeWriter& node, int axes, double outside) {
    const auto extents = node.info().shape.extents();
    const auto leading = extents.size() - static_cast<std::size_t>(axes);
    Extents target(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(leading));
    std::int64_t elements = 1;
    for (const std::int64_t extent : extents.subspan(leading)) elements *= extent;
    target.push_back(elements);
    const std::string planes = node.reshaped(node.name(), target, node.batched());
    const std::size_t rank = leading + 1 + (node.batched() ? 1 : 0);
    Extents more(2 * rank, 0);
    more.back() = 1;
    return node.add("Pad", {planes, node.builder().integers(more), node.builder().scalar(outside)});
}

/// Elements of the last axis at indices of a shape.
std::string gathered(const NodeWriter& node, const std::string& planes, int rank,
                     const Extents& indices, Extents shape) {
    Tensor tensor(ValueType::integer, Shape(std::span<const std::int64_t>(shape)),
                  {indices.begin(), indices.end()});
    const std::string constant = node.builder().constant(tensor, "window");
    return node.add("Gather", {planes, constant}, {{"axis", std::int64_t{rank}}});
}

}  // namespace

void write_im2col(const NodeWriter& node, std::string_view /*operation*/) {
    const auto& attribute = node.attribute<Im2colAttribute>();
    const int axes = attribute.window.rank;
    const WindowGeometry window = window_geometry(attribute.window, node.info().shape.extents());
    const double outside =
        attribute.padding == Padding::lowest ? -std::numeric_limits<double>::infinity() : 0.0;
    const auto extents = node.result().shape.extents();
    const Extents shape(extents.end() - axes - 1, extents.end());
    const int leading = node.info().shape.rank() - axes + (node.batched() ? 1 : 0);
    node.give(gathered(node, flat_planes(node, axes, outside), leading,
                       read_elements(window, window.elements()), shape));
}

void write_col2im(const NodeWriter& node, std::string_view /*operation*/) {
    const int axes = node.attribute<Im2colAttribute>().window.rank;
    const auto extents = node.result().shape.extents();
    const WindowGeometry window =
        window_geometry(node.attribute<Im2colAttribute>().window, extents);
    const std::int64_t taps = window.taps() * window.windows();
    std::vector<Extents> readers(static_cast<std::size_t>(window.elements()));
    const Extents read = read_elements(window, -1);
    std::size_t most = 1;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::int64_t element = read[static_cast<std::size_t>(tap)];
        if (element < 0) continue;
        Extents& own = readers[static_cast<std::size_t>(element)];
        own.push_back(tap);
        most = std::max(most, own.size());
    }
    // As many for each, with a zero for what is missing.
    Extents indices;
    for (Extents& own : readers) {
        own.resize(most, taps);
        indices.insert(indices.end(), own.begin(), own.end());
    }
    Extents shape(extents.end() - axes, extents.end());
    shape.push_back(static_cast<std::int64_t>(most));
    const int leading = node.info().shape.rank() - axes - 1 + (node.batched() ? 1 : 0);
    const std::string each =
        gathered(node, flat_planes(node, axes + 1, 0.0), leading, indices, shape);
    node.give(node.add("ReduceSum", {each, node.builder().integers({leading + axes})},
                       {{"keepdims", std::int64_t{0}}}));
}

void write_conv(const NodeWriter& node, std::string_view operation) {
    const auto& [window, groups, has_bias, packed] = node.attribute<ConvAttribute>();
    CAMBRIAN_EXPECT(!packed && !node.batched(1) && (!has_bias || !node.batched(2)));
    const auto axes = static_cast<std::size_t>(window.rank);
    const auto of_axes = [&](const Window::Extents& each) {
        return Extents(each.begin(), each.begin() + window.rank);
    };
    Extents padding = of_axes(window.before);
    padding.insert(padding.end(), window.after.begin(), window.after.begin() + window.rank);

    // Images are one axis before channels: what is before them, and the batch, become one.
    const auto extents = node.info().shape.extents();
    Extents images(extents.end() - window.rank - 1, extents.end());
    images.insert(images.begin(), -1);
    const bool is_plain = node.batched() && extents.size() == axes + 1;
    std::vector<std::string> operands{
        is_plain ? node.name()
                 : node.add("Reshape", {node.name(), node.builder().integers(images)})};
    for (std::size_t i = 1; i < node.count(); ++i) operands.push_back(node.name(i));
    const std::string result = node.add(operation, operands,
                                        {{"group", groups},
                                         {"kernel_shape", of_axes(window.kernel)},
                                         {"strides", of_axes(window.stride)},
                                         {"dilations", of_axes(window.dilation)},
                                         {"pads", padding}});
    if (is_plain) return node.give(result);
    const auto given = node.result().shape.extents();
    Extents back(given.begin(), given.end());
    if (node.batched()) back.insert(back.begin(), -1);
    node.give(node.add("Reshape", {result, node.builder().integers(back)}));
}

void write_cast(const NodeWriter& node, std::string_view operation) {
    const ValueType target = node.attribute<CastAttribute>().type;
    if (target == node.info().type) return node.give(node.place());
    std::string value = node.name();
    if (node.info().type == ValueType::real && target == ValueType::integer) {
        // What lies beyond int32 is limited here and undefined there; NaN is the lowest.
        constexpr double lowest = -2147483648.0;
        constexpr double largest = 2147483520.0;  // In float32.
        Builder& to = node.builder();
        const std::string known =
            node.add("Where", {node.add("IsNaN", {value}), to.scalar(lowest), value});
        value = node.add("Clip", {known, to.scalar(lowest), to.scalar(largest)});
    }
    node.give(
        node.add(operation, {value}, {{"to", static_cast<std::int64_t>(element_type(target))}}));
}

}  // namespace cambrian::onnx
