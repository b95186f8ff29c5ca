#include "cambrian/engine/graph/builders/convolution.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cambrian/engine/graph/builders/conv_as_matmul.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"

namespace cambrian {
namespace {

using Extents = std::vector<std::int64_t>;

Shape shape_of(const Extents& extents) {
    return Shape(std::span<const std::int64_t>(extents));
}

Window::Extents kernel_of(Var weights, int rank) {
    Window::Extents kernel{1, 1, 1};
    for (int axis = 0; axis < rank; ++axis)
        kernel[static_cast<std::size_t>(axis)] = weights.shape()[axis + 2];
    return kernel;
}

/// The window of weights [O, C / groups, k1 .. kr].
Window weights_window(std::span<const Var> operands, const ConvOptions& options, Where where) {
    const int rank = operands[1].rank() - 2;
    Window window = AxisReader(Op::conv, operands, rank, where).window(1, options);
    window.kernel = kernel_of(operands[1], rank);
    return window;
}

Var add_conv(std::span<const Var> operands, const ConvOptions& options, Where where) {
    const ConvAttribute attribute{.window = weights_window(operands, options, where),
                                  .groups = options.groups,
                                  .bias = operands.size() == 3};
    return operands[0].graph->add(Op::conv, operands, attribute, where);
}

/// Extents that a transposed convolution gives.
Window::Extents transposed_extents(std::span<const Var> operands, const Window& window,
                                   const PerAxis& output_padding, Where where) {
    const auto more = AxisReader(Op::conv, operands, window.rank, where)
                          .numbers("the output padding", output_padding);
    Window::Extents extents{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(window.rank); ++i) {
        if (more[i] < 0 || more[i] >= window.stride[i])
            fail_node(Op::conv, operands,
                      "(an output padding of " + std::to_string(more[i]) + " meets a stride of " +
                          std::to_string(window.stride[i]) + ") use 0 or more, below the stride",
                      where);
        const std::int64_t positions = operands[0].shape()[static_cast<int>(i) - window.rank];
        extents[i] = (positions - 1) * window.stride[i] - window.before[i] - window.after[i] +
                     window.dilation[i] * (window.kernel[i] - 1) + 1 + more[i];
        if (extents[i] < 0)
            fail_node(Op::conv, operands, "(its padding removes more than all) use less padding",
                      where);
    }
    return extents;
}

/// Reports operands of a transposed convolution as the rule of conv reports its own.
void check_transposed(std::span<const Var> operands, int rank, std::int64_t groups, Where where) {
    const Shape& x = operands[0].shape();
    const Shape& weights = operands[1].shape();
    if (x.rank() < rank + 1 || x[-rank - 1] != weights[0])
        fail_node(Op::conv, operands,
                  "(transposed it reads " + std::to_string(weights[0]) + " channels) pass x [.., " +
                      std::to_string(weights[0]) + ", axes]",
                  where);
    if (groups < 1 || weights[0] % groups != 0)
        fail_node(Op::conv, operands,
                  "(" + std::to_string(weights[0]) + " channels do not make " +
                      std::to_string(groups) + " equal groups) use a divisor of the channels",
                  where);
    const std::int64_t outputs = weights[1] * groups;
    if (operands.size() == 3 && operands[2].shape() != Shape{outputs})
        fail_node(Op::conv, operands,
                  "(the bias is not one number for each output) pass a bias [" +
                      std::to_string(outputs) + "]",
                  where);
}

/// A transposed convolution without its bias.
struct Transposed {
    Window window;
    std::int64_t groups = 1;
    Window::Extents inside{};  ///< Of what it gives.
};

Var transposed_whole(const Transposed& how, Var x, Var weights) {
    const int rank = how.window.rank;
    const auto leading = x.shape().extents();
    Extents extents(leading.begin(), leading.end() - rank - 1);
    extents.push_back(weights.shape()[1] * how.groups);
    extents.insert(extents.end(), how.inside.begin(), how.inside.begin() + rank);
    const ConvForm form({.window = how.window, .groups = how.groups}, shape_of(extents),
                        weights.shape());
    return form.adjoint(x, weights);
}

/// Part by part where weights are codes, so that no value holds all their numbers.
Var transposed(const Transposed& how, Var x, Var weights) {
    const auto parts = transposed_parts(weights, how.groups);
    if (!parts) return transposed_whole(how, x, weights);
    const int axis = x.rank() - how.window.rank - 1;
    std::vector<Var> results;
    for (const ChannelPart& part : *parts) {
        const Var channels = slice(x, axis, part.channel, part.weights.shape()[0]);
        results.push_back(
            transposed_whole({how.window, part.groups, how.inside}, channels, part.weights));
    }
    return concat(results, axis);
}

Var add_transposed(std::span<const Var> operands, const ConvOptions& options,
                   const PerAxis& output_padding, Where where) {
    const Window window = weights_window(operands, options, where);
    const int rank = window.rank;
    check_transposed(operands, rank, options.groups, where);
    const Var weights = operands[1];
    const Window::Extents inside = transposed_extents(operands, window, output_padding, where);
    const Var result = transposed({window, options.groups, inside}, operands[0], weights);
    if (operands.size() == 2) return result;
    Extents along{weights.shape()[1] * options.groups};
    along.resize(static_cast<std::size_t>(rank) + 1, 1);
    return Operand(result, where) + Operand(reshape(operands[2], shape_of(along), where), where);
}

}  // namespace

PerAxis::PerAxis(std::initializer_list<std::int64_t> each) : count_(static_cast<int>(each.size())) {
    std::copy_n(each.begin(), std::min(each.size(), values_.size()), values_.begin());
}

Var im2col(Var x, const PerAxis& kernel, const ConvOptions& options, Padding padding, Where where) {
    const std::span<const Var> operands(&x, 1);
    const Window window =
        AxisReader(Op::im2col, operands, kernel.count(), where).window(kernel, options);
    return x.graph->add(Op::im2col, operands, Im2colAttribute{.window = window, .padding = padding},
                        where);
}

Var col2im(Var taps, const PerAxis& kernel, const PerAxis& extents, const ConvOptions& options,
           Where where) {
    const std::span<const Var> operands(&taps, 1);
    const AxisReader reader(Op::col2im, operands, kernel.count(), where);
    const Im2colAttribute attribute{.window = reader.window(kernel, options),
                                    .extents = reader.numbers("the result", extents)};
    return taps.graph->add(Op::col2im, operands, attribute, where);
}

Var conv(Var x, Var weights, const ConvOptions& options, Where where) {
    return add_conv(std::array{x, weights}, options, where);
}
Var conv(Var x, Var weights, Var bias, const ConvOptions& options, Where where) {
    return add_conv(std::array{x, weights, bias}, options, where);
}

Var conv_transpose(Var x, Var weights, const ConvOptions& options, const PerAxis& output_padding,
                   Where where) {
    return add_transposed(std::array{x, weights}, options, output_padding, where);
}
Var conv_transpose(Var x, Var weights, Var bias, const ConvOptions& options,
                   const PerAxis& output_padding, Where where) {
    return add_transposed(std::array{x, weights, bias}, options, output_padding, where);
}

Var causal_conv1d(Var x, Var weights, Where where) {
    const std::array operands{x, weights};
    if (x.rank() < 2 || weights.rank() != 2 || weights.shape()[0] != x.shape()[-1] ||
        weights.shape()[1] < 1)
        fail_node(
            Op::conv, operands,
            "(a causal filter takes x [.., time, features] and weights [features, kernel]) pass a "
            "row of weights for each feature",
            where);
    // A window of K steps and one feature keeps features last: nothing has to be transposed.
    const std::int64_t kernel = weights.shape()[1];
    const Var steps = im2col(x, {kernel, 1}, {.before = {kernel - 1, 0}}, Padding::zero, where);
    const Var filter = reshape(transpose(weights, where), {kernel, 1, weights.shape()[0]}, where);
    return reduce_sum(Operand(steps, where) * Operand(filter, where), -3, false, where);
}

Var causal_conv1d(Var x, Var weights, Var bias, Where where) {
    return Operand(causal_conv1d(x, weights, where), where) + Operand(bias, where);
}

AxisReader::AxisReader(Op op, std::span<const Var> operands, int rank, Where where)
    : op_(op), operands_(operands), rank_(rank), where_(where) {
    if (rank < 1 || rank > Window::max_rank)
        fail_node(op, operands,
                  "(a window has 1 to 3 axes, not " + std::to_string(rank) +
                      ") merge or add axes with reshape",
                  where);
}

Window::Extents AxisReader::numbers(const char* what, const PerAxis& values) const {
    if (values.count() != 1 && values.count() != rank_)
        fail_node(op_, operands_,
                  "(" + std::string(what) + " has " + std::to_string(values.count()) +
                      " numbers for " + std::to_string(rank_) + " axes) give one for each, or one",
                  where_);
    Window::Extents extents{};
    for (int axis = 0; axis < rank_; ++axis) extents[static_cast<std::size_t>(axis)] = values[axis];
    return extents;
}

Window AxisReader::window(const PerAxis& kernel, const ConvOptions& options) const {
    Window window{.rank = rank_};
    const auto set = [&](Window::Extents& target, const char* what, const PerAxis& values) {
        std::copy_n(numbers(what, values).begin(), rank_, target.begin());
    };
    set(window.kernel, "the kernel", kernel);
    set(window.stride, "the stride", options.stride);
    set(window.dilation, "the dilation", options.dilation);
    set(window.before, "the padding before", options.before);
    set(window.after, "the padding after", options.after);
    return window;
}

}  // namespace cambrian
