#include "cambrian/engine/graph/builders/conv_as_matmul.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/contraction.hpp"
#include "cambrian/engine/graph/builders/convolution.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"

namespace cambrian {
namespace {

using Extents = std::vector<std::int64_t>;

Shape joined(Extents extents, const Window::Extents& last, int rank) {
    extents.insert(extents.end(), last.end() - rank, last.end());
    return Shape(std::span<const std::int64_t>(extents));
}

/// Whether the adjoint is a convolution itself: windows start at every element, and each of them
/// reads one.
bool adjoint_is_conv(const Window& window, const WindowGeometry& geometry) {
    if (geometry.elements() == 0) return false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(window.rank); ++i) {
        const std::int64_t last_tap = window.dilation[i] * (window.kernel[i] - 1);
        if (window.stride[i] != 1 || window.before[i] > last_tap || window.after[i] > last_tap)
            return false;
    }
    return true;
}

/// Weights with channels and outputs of each group exchanged and their taps from the last on.
Var turned(Var weights, const ConvForm& form) {
    const int rank = form.conv.window.rank;
    const std::int64_t groups = form.conv.groups;
    const auto kernel = weights.shape().extents().subspan(2);
    std::vector<std::int64_t> split{groups, form.outputs / groups, form.channels / groups};
    std::vector<std::int64_t> whole{form.channels, form.outputs / groups};
    split.insert(split.end(), kernel.begin(), kernel.end());
    whole.insert(whole.end(), kernel.begin(), kernel.end());
    const Var parts = reshape(weights, Shape(std::span<const std::int64_t>(split)));
    PermuteAttribute exchange{{0, 2, 1, 3, 4, 5}};
    Var result = weights.graph->add(Op::permute, std::span(&parts, 1), exchange);
    for (int axis = 0; axis < rank; ++axis)
        if (kernel[static_cast<std::size_t>(axis)] > 1) result = flip(result, axis + 3);
    return reshape(result, Shape(std::span<const std::int64_t>(whole)));
}

Var adjoint_conv(Var y, Var weights, const ConvForm& form) {
    ConvAttribute back{.window = form.conv.window, .groups = form.conv.groups};
    for (std::size_t i = 0; i < static_cast<std::size_t>(back.window.rank); ++i) {
        const std::int64_t last_tap = back.window.dilation[i] * (back.window.kernel[i] - 1);
        back.window.before[i] = last_tap - form.conv.window.before[i];
        back.window.after[i] = last_tap - form.conv.window.after[i];
    }
    return y.graph->add(Op::conv, std::array{y, turned(weights, form)}, back);
}

/// Products of y with every tap's weights, added where the taps were read.
Var add_taps(Var y, Var weights, const ConvForm& form) {
    const int rank = form.conv.window.rank;
    const Var taps = matmul(form.matrices(weights), form.rows(y), true, false);
    std::vector<std::int64_t> extents{form.images, form.channels, form.geometry.taps()};
    extents.insert(extents.end(), form.geometry.positions.end() - rank,
                   form.geometry.positions.end());
    const Var planes = reshape(taps, Shape(std::span<const std::int64_t>(extents)));
    Im2colAttribute adding{.window = form.conv.window};
    std::copy_n(form.geometry.inside.end() - rank, rank, adding.extents.begin());
    return y.graph->add(Op::col2im, std::span(&planes, 1), adding);
}

/// The window whose taps are the windows of another, and the other way round.
std::optional<Window> exchanged(const ConvForm& form) {
    Window window = form.conv.window;
    const std::size_t missing = Window::max_rank - static_cast<std::size_t>(window.rank);
    for (std::size_t axis = missing; axis < Window::max_rank; ++axis) {
        const std::size_t i = axis - missing;
        window.kernel[i] = form.geometry.positions[axis];
        std::swap(window.stride[i], window.dilation[i]);
        window.after[i] =
            form.geometry.element(axis, window.kernel[i] - 1, form.geometry.kernel[axis] - 1) + 1 -
            form.geometry.inside[axis];
        if (window.after[i] < 0) return std::nullopt;
    }
    return window;
}

/// Where a group is one channel: every image and channel by itself, y as the weights, so that no
/// window is written out.
std::optional<Var> channel_products(Var x, Var y, const ConvForm& form) {
    const std::optional<Window> window = exchanged(form);
    const std::int64_t planes = form.images * form.channels;
    if (form.channels != form.conv.groups || !window || planes == 0) return std::nullopt;
    const int rank = window->rank;
    const Var images = reshape(x, joined({planes}, form.geometry.inside, rank));
    const Var weights =
        reshape(y, joined({form.images * form.outputs, 1}, form.geometry.positions, rank));
    const ConvAttribute attribute{.window = *window, .groups = planes};
    return x.graph->add(Op::conv, std::array{images, weights}, attribute);
}

/// Pieces that weights are decoded in: each has a part of the result, which is put together.
constexpr std::int64_t max_pieces = 16;

/// So many in each of the pieces.
std::int64_t in_piece(std::int64_t count) {
    return (count + max_pieces - 1) / max_pieces;
}

/// A matrix in codes.
struct CodedMatrix {
    std::vector<Var> parts;
    PackedAttribute packed;

    [[nodiscard]] Var numbers() const { return unpack(parts, packed); }

    [[nodiscard]] CodedMatrix rows(std::int64_t first, std::int64_t count) const {
        CodedMatrix result{{}, packed};
        for (const Var part : parts) result.parts.push_back(slice(part, 0, first, count));
        return result;
    }

    /// Contract: the first is a multiple of 32, which begins a word and
    /// a block, and a word of zero points, or there is one of these for each row.
    [[nodiscard]] CodedMatrix columns(std::int64_t first, std::int64_t count) const {
        CodedMatrix result{{}, packed};
        result.packed.length = count;
        const bool blocks = scale_group(packed) == ScaleGroup::block;
        const std::array<std::int64_t, 3> begins{
            packed_words(packed.dtype, first), blocks ? first / scale_block : 0,
            blocks ? packed_words(packed.dtype, first / scale_block) : 0};
        const std::array<std::int64_t, 3> lengths{packed_words(result.packed),
                                                  scales_of_row(result.packed),
                                                  zero_point_words(result.packed)};
        for (std::size_t i = 0; i < parts.size(); ++i)
            result.parts.push_back(slice(parts[i], 1, begins[i], lengths[i]));
        return result;
    }

    /// Columns that can be told apart: whole words of codes and of zero points.
    [[nodiscard]] std::int64_t unit() const {
        const bool blocks = scale_group(packed) == ScaleGroup::block;
        return blocks && row(packed.dtype).affine ? scale_block * 32 / row(packed.dtype).bits
                                                  : scale_block;
    }
};

/// The matrix that a value is the numbers of, if an unpack makes it.
std::optional<CodedMatrix> coded(Var value) {
    const Graph& graph = *value.graph;
    const Node* maker = &graph.producer(value.id);
    if (maker->op == Op::reshape) maker = &graph.producer(graph.operands(*maker)[0]);
    if (maker->op != Op::unpack) return std::nullopt;
    CodedMatrix result{{}, std::get<PackedAttribute>(maker->attributes)};
    for (const ValueId part : graph.operands(*maker)) result.parts.push_back({value.graph, part});
    if (result.parts[0].rank() != 2 || result.parts[0].shape()[0] != value.shape()[0])
        return std::nullopt;
    return result;
}

/// Weights of so many outputs of a group.
Var weights_of(Var numbers, const Shape& whole, std::int64_t outputs) {
    std::vector<std::int64_t> extents(whole.extents().begin(), whole.extents().end());
    extents[0] = numbers.shape()[0];
    extents[1] = outputs;
    return reshape(numbers, Shape(std::span<const std::int64_t>(extents)));
}

/// Terms of a sum whose columns are read as they lie; longer sums are cut by kernels that read rows
/// alone.
constexpr std::int64_t max_terms = 65536;

/// The rows of codes of one group times its windows, [images, outputs, windows].
Var product_of_group(const ConvForm& form, Var windows, const CodedMatrix& matrix) {
    const bool as_they_lie = form.depth <= max_terms;
    const Var columns = reshape(windows, {form.images, form.depth, form.geometry.windows()});
    std::vector<Var> operands{as_they_lie ? columns : transpose(columns)};
    operands.insert(operands.end(), matrix.parts.begin(), matrix.parts.end());
    const MatmulEpilogueAttribute product{
        .product = {.transpose_left = as_they_lie, .transpose_right = true},
        .packed = matrix.packed};
    return transpose(windows.graph->add(Op::matmul_epilogue, operands, product));
}

}  // namespace

ConvForm::ConvForm(const ConvAttribute& attribute, const Shape& x, const Shape& weights)
    : conv(attribute),
      geometry(window_geometry(attribute.window, x.extents())),
      leading(x.extents().begin(), x.extents().end() - attribute.window.rank - 1),
      images(Shape(std::span<const std::int64_t>(leading)).elements()),
      channels(x[-attribute.window.rank - 1]),
      outputs(weights[0]),
      depth(channels / attribute.groups * geometry.taps()) {}

Var ConvForm::columns(Var x) const {
    Var columns = reshape(x, joined({images, channels}, geometry.inside, conv.window.rank));
    if (!geometry.is_identity())
        columns = x.graph->add(Op::im2col, std::span(&columns, 1),
                               Im2colAttribute{.window = conv.window});
    return reshape(columns, {images, conv.groups, depth, geometry.windows()});
}

Var ConvForm::rows(Var y) const {
    return reshape(y, {images, conv.groups, outputs / conv.groups, geometry.windows()});
}

Var ConvForm::matrices(Var weights) const {
    return reshape(weights, {conv.groups, outputs / conv.groups, depth});
}

Var ConvForm::adjoint(Var y, Var weights) const {
    const Var x = adjoint_is_conv(conv.window, geometry) ? adjoint_conv(y, weights, *this)
                                                         : add_taps(y, weights, *this);
    Extents extents = leading;
    extents.push_back(channels);
    return reshape(x, joined(std::move(extents), geometry.inside, conv.window.rank));
}

Var ConvForm::weight_adjoint(Var x, Var y) const {
    const std::optional<Var> by_channel = channel_products(x, y, *this);
    const Var products = by_channel ? *by_channel : matmul(rows(y), columns(x), false, true);
    const std::int64_t group_channels = channels / conv.groups;
    const Var sums = sum_along(reshape(products, {images, outputs * depth}), 0);
    return reshape(sums, joined({outputs, group_channels}, geometry.kernel, conv.window.rank));
}

Shape ConvForm::result_shape() const {
    Extents extents = leading;
    extents.push_back(outputs);
    return joined(std::move(extents), geometry.positions, conv.window.rank);
}

Var products_of_codes(const ConvForm& form, Var columns, std::span<const Var> parts) {
    const CodedMatrix matrix{{parts.begin(), parts.end()}, *form.conv.packed};
    const std::int64_t outputs = form.outputs / form.conv.groups;
    const std::int64_t at_once = in_piece(form.conv.groups);
    std::vector<Var> products;
    for (std::int64_t group = 0; group < form.conv.groups; group += at_once) {
        const std::int64_t groups = std::min(at_once, form.conv.groups - group);
        const Var windows = slice(columns, 1, group, groups);
        const CodedMatrix own = matrix.rows(group * outputs, groups * outputs);
        if (groups == 1) {
            products.push_back(product_of_group(form, windows, own));
            continue;
        }
        const Var weights = reshape(own.numbers(), {groups, outputs, form.depth});
        products.push_back(reshape(matmul(weights, windows),
                                   {form.images, groups * outputs, form.geometry.windows()}));
    }
    return products.size() == 1 ? products[0] : concat(products, 1);
}

std::optional<std::vector<ChannelPart>> transposed_parts(Var weights, std::int64_t groups) {
    const std::optional<CodedMatrix> matrix = coded(weights);
    if (!matrix || groups < 1 || weights.shape()[0] % groups != 0) return std::nullopt;
    const std::int64_t channels = weights.shape()[0] / groups;
    const std::int64_t outputs = weights.shape()[1];
    std::vector<ChannelPart> result;
    if (groups > 1) {
        const std::int64_t at_once = in_piece(groups);
        for (std::int64_t group = 0; group < groups; group += at_once) {
            const std::int64_t some = std::min(at_once, groups - group);
            const Var numbers = matrix->rows(group * channels, some * channels).numbers();
            result.push_back(
                {weights_of(numbers, weights.shape(), outputs), group * channels, some});
        }
        return result;
    }
    // Outputs whose columns begin a unit.
    const std::int64_t taps = outputs > 0 ? matrix->packed.length / outputs : 1;
    const std::int64_t unit = matrix->unit() / std::gcd(matrix->unit(), taps);
    const std::int64_t at_once = (in_piece(outputs) + unit - 1) / unit * unit;
    if (outputs <= at_once) return std::nullopt;
    for (std::int64_t output = 0; output < outputs; output += at_once) {
        const std::int64_t some = std::min(at_once, outputs - output);
        const CodedMatrix own = matrix->columns(output * taps, some * taps);
        result.push_back({weights_of(own.numbers(), weights.shape(), some)});
    }
    return result;
}

}  // namespace cambrian
