#include "cambrian/engine/graph/builders/axis_reader.hpp"

#include <algorithm>

#include "cambrian/engine/graph/shape_errors.hpp"

namespace cambrian {

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
