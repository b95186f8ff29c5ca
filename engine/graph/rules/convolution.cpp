#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/contraction.hpp"
#include "cambrian/engine/graph/builders/conv_as_matmul.hpp"
#include "cambrian/engine/graph/builders/convolution.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Rules of im2col, col2im and conv, and the lowering of conv.
namespace cambrian {
namespace {

using Extents = std::vector<std::int64_t>;

/// The extents of a shape without its last `count`.
Extents without_last(const Shape& shape, int count) {
    const auto extents = shape.extents();
    return {extents.begin(), extents.end() - count};
}

void append_last(Extents& extents, const Window::Extents& values, int rank) {
    extents.insert(extents.end(), values.end() - rank, values.end());
}

/// The last axes of a shape, as the geometry of a window has them.
Window::Extents last_extents(const Shape& shape, int rank) {
    Window::Extents extents{1, 1, 1};
    std::copy(shape.extents().end() - rank, shape.extents().end(), extents.end() - rank);
    return extents;
}

std::string text(const Window::Extents& extents, int rank) {
    return Shape(std::span(extents).last(static_cast<std::size_t>(rank))).text();
}

void check_weights(const ConvAttribute& conv, const Shape& x, const Shape& weights) {
    const int rank = conv.window.rank;
    if (weights.rank() != rank + 2 || x.rank() < rank + 1)
        reject("a window over " + std::to_string(rank) + " axes takes x [.., channels, axes] and " +
                   "weights [outputs, channels of a group, kernel]",
               "add the axes that are missing with reshape");
    if (conv.groups < 1 || weights[0] % conv.groups != 0)
        reject(std::to_string(weights[0]) + " outputs do not make " + std::to_string(conv.groups) +
                   " equal groups",
               "use a divisor of the outputs");
    const std::int64_t channels = x[-rank - 1];
    if (channels % conv.groups != 0 || weights[1] != channels / conv.groups)
        reject(std::to_string(channels) + " channels in " + std::to_string(conv.groups) +
                   " groups do not meet weights for " + std::to_string(weights[1]) +
                   " channels of a group",
               "change the channels, the weights or the groups");
    if (!std::ranges::equal(weights.extents().subspan(2),
                            std::span(conv.window.kernel).first(static_cast<std::size_t>(rank))))
        reject("the weights have another kernel than the window", "use the extents of the weights");
}

/// Operands that weights are.
std::size_t weight_operands(const ConvAttribute& conv) {
    return conv.packed ? packed_operands(conv.packed->dtype) : 1;
}

/// The shape of the weights.
Shape weights_shape(const ConvAttribute& conv, const OperandInfos& operands) {
    if (!conv.packed) return operands[1].shape;
    const Shape matrix = shape_rule::packed_matrix(operands, 1, *conv.packed);
    const Shape weights = conv_weights_shape(conv, operands[1].shape);
    if (matrix.rank() != 2 || weights.elements() != matrix.elements())
        reject("rows of " + std::to_string(conv.packed->length) +
                   " numbers are no channels of whole windows",
               "pack a row for each output");
    return weights;
}

/// Checks operands, and returns the shape of the weights.
Shape checked_weights(const ConvAttribute& conv, const OperandInfos& operands) {
    const std::size_t bias = 1 + weight_operands(conv);
    if (operands.size() != bias + (conv.bias ? 1U : 0U))
        reject("conv takes x, weights and, with a bias, its numbers",
               "pass " + std::to_string(bias + (conv.bias ? 1U : 0U)) + " operands");
    const Shape weights = weights_shape(conv, operands);
    check_weights(conv, operands[0].shape, weights);
    if (conv.bias && operands[bias].shape != Shape{weights[0]})
        reject("the bias is not one number for each of " + std::to_string(weights[0]) + " outputs",
               "pass a bias [" + std::to_string(weights[0]) + "]");
    return weights;
}

}  // namespace

Shape shape_rule::im2col(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const Window& window = attribute<Im2colAttribute>(attributes).window;
    const Shape& shape = operands[0].shape;
    const WindowGeometry geometry = window_geometry(window, shape.extents());
    Extents extents = without_last(shape, window.rank);
    extents.push_back(geometry.taps());
    append_last(extents, geometry.positions, window.rank);
    return Shape(std::span<const std::int64_t>(extents));
}

Shape shape_rule::col2im(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const auto& [window, padding, targets] = attribute<Im2colAttribute>(attributes);
    const WindowGeometry geometry = window_geometry(
        window, std::span(targets).first(
                    static_cast<std::size_t>(std::clamp(window.rank, 0, Window::max_rank))));
    const Shape& shape = operands[0].shape;
    const int rank = window.rank;
    if (shape.rank() < rank + 1 || shape[-rank - 1] != geometry.taps() ||
        last_extents(shape, rank) != geometry.positions)
        reject("windows over " + text(geometry.inside, rank) + " have " +
                   std::to_string(geometry.taps()) + " taps and positions " +
                   text(geometry.positions, rank),
               "pass an operand [.., taps, positions]");
    Extents extents = without_last(shape, rank + 1);
    append_last(extents, geometry.inside, rank);
    return Shape(std::span<const std::int64_t>(extents));
}

Shape shape_rule::conv(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const auto& conv = attribute<ConvAttribute>(attributes);
    return ConvForm(conv, operands[0].shape, checked_weights(conv, operands)).result_shape();
}

ValueType type_rule::conv(const OperandInfos& operands, const Attributes& attributes,
                          std::size_t result) {
    const auto& conv = attribute<ConvAttribute>(attributes);
    if (!conv.packed) return real(operands, attributes, result);
    // The parts of the matrix are checked with its shape.
    for (std::size_t i = 0; i < operands.size(); ++i)
        if ((i == 0 || i > weight_operands(conv)) && operands[i].type != ValueType::real)
            reject("numbers are needed, not " + std::string(name(operands[i].type)),
                   "pass real operands beside the codes");
    return ValueType::real;
}

std::vector<Var> lower_conv(Graph&, std::span<const Var> operands, const Attributes& attributes) {
    const auto& conv = attribute<ConvAttribute>(attributes);
    const ConvForm form(conv, operands[0].shape(), conv_weights_shape(conv, operands[1].shape()));
    const Var columns = form.columns(operands[0]);
    const Var product =
        conv.packed ? products_of_codes(form, columns, operands.subspan(1, weight_operands(conv)))
                    : matmul(form.matrices(operands[1]), columns);
    Var result = reshape(product, {form.images, form.outputs, form.geometry.windows()});
    if (conv.bias) result = result + reshape(operands.back(), {form.outputs, 1});
    return {reshape(result, form.result_shape())};
}

}  // namespace cambrian

namespace cambrian::gradient_rule {

void im2col(GradientContext& c) {
    Im2colAttribute adjoint = attribute<Im2colAttribute>(c.attributes());
    const auto rank = static_cast<std::size_t>(adjoint.window.rank);
    const auto inside = c.operand().shape().extents().last(rank);
    adjoint.padding = Padding::zero;
    adjoint.extents = {};
    std::ranges::copy(inside, adjoint.extents.begin());
    const Var g = c.upstream();
    c.accumulate(0, c.graph().add(Op::col2im, std::span(&g, 1), adjoint));
}

void col2im(GradientContext& c) {
    const Window& window = attribute<Im2colAttribute>(c.attributes()).window;
    const Var g = c.upstream();
    c.accumulate(0, c.graph().add(Op::im2col, std::span(&g, 1), Im2colAttribute{.window = window}));
}

void conv(GradientContext& c) {
    CAMBRIAN_EXPECT(!attribute<ConvAttribute>(c.attributes()).packed);  // Codes come after.
    const ConvForm form(attribute<ConvAttribute>(c.attributes()), c.operand(0).shape(),
                        c.operand(1).shape());
    const Var g = c.upstream();
    if (c.wants(0)) c.accumulate(0, form.adjoint(g, c.operand(1)));
    if (c.wants(1)) c.accumulate(1, form.weight_adjoint(c.operand(0), g));
    if (form.conv.bias && c.wants(2)) {
        const Var sums = sum_along(form.rows(g), -1);
        c.accumulate(2, cambrian::reshape(sum_along(sums, 0), {form.outputs}));
    }
}

}  // namespace cambrian::gradient_rule
