#include <algorithm>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/contraction.hpp"
#include "cambrian/engine/graph/builders/conv_as_matmul.hpp"
#include "cambrian/engine/graph/builders/convolution.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
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

void check_conv(const ConvAttribute& conv, const OperandInfos& operands) {
    if (operands.size() != (conv.bias ? 3U : 2U))
        reject("conv takes x, weights and, with a bias, its numbers",
               "pass " + std::string(conv.bias ? "three" : "two") + " operands");
    const Shape& weights = operands[1].shape;
    check_weights(conv, operands[0].shape, weights);
    if (conv.bias && operands[2].shape != Shape{weights[0]})
        reject("the bias is not one number for each of " + std::to_string(weights[0]) + " outputs",
               "pass a bias [" + std::to_string(weights[0]) + "]");
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
    check_conv(conv, operands);
    return ConvForm(conv, operands[0].shape, operands[1].shape).result_shape();
}

ValueType type_rule::conv(const OperandInfos& operands, const Attributes& attributes,
                          std::size_t result) {
    return real(operands, attributes, result);
}

std::vector<Var> lower_conv(Graph&, std::span<const Var> operands, const Attributes& attributes) {
    const ConvForm form(attribute<ConvAttribute>(attributes), operands[0].shape(),
                        operands[1].shape());
    const Var product = matmul(form.matrices(operands[1]), form.columns(operands[0]));
    Var result = reshape(product, {form.images, form.outputs, form.geometry.windows()});
    if (form.conv.bias) result = result + reshape(operands[2], {form.outputs, 1});
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
    const ConvForm form(attribute<ConvAttribute>(c.attributes()), c.operand(0).shape(),
                        c.operand(1).shape());
    const Var g = c.upstream();
    if (c.wants(0)) c.accumulate(0, form.adjoint(g, c.operand(1)));
    if (c.wants(1)) c.accumulate(1, form.weight_adjoint(c.operand(0), g));
    if (form.conv.bias && c.wants(2)) {
        const Var sums = cambrian::reduce_sum(form.rows(g), -1);
        c.accumulate(2, cambrian::reshape(cambrian::reduce_sum(sums, 0), {form.outputs}));
    }
}

}  // namespace cambrian::gradient_rule
