#include <algorithm>

#include "cambrian/engine/reference/kernels.hpp"

// Sources, movement and casts.
namespace cambrian::reference {
namespace {

/// Truncates toward zero into the range of int32; NaN counts as the lowest.
double truncated(double x) {
    constexpr double lowest = -2147483648.0;
    constexpr double highest = 2147483647.0;
    const double above = x > lowest ? x : lowest;
    return std::trunc(above < highest ? above : highest) + 0.0;
}

}  // namespace

BroadcastIndex::BroadcastIndex(const Shape& operand, const Shape& result)
    : rank_(result.rank()), identity_(operand == result) {
    const auto strides = row_major_strides(operand);
    for (int back = 1; back <= rank_; ++back) {
        const auto axis = static_cast<std::size_t>(rank_ - back);
        extents_[axis] = result[-back];
        if (back <= operand.rank() && operand[-back] != 1)
            strides_[axis] = strides[static_cast<std::size_t>(operand.rank() - back)];
    }
}

std::size_t BroadcastIndex::operator()(std::size_t result_position) const {
    if (identity_) return result_position;
    auto rest = static_cast<std::int64_t>(result_position);
    std::int64_t position = 0;
    for (auto axis = static_cast<std::size_t>(rank_); axis-- > 0;) {
        position += rest % extents_[axis] * strides_[axis];
        rest /= extents_[axis];
    }
    return static_cast<std::size_t>(position);
}

AxisView::AxisView(const Shape& shape, int axis) : extent(static_cast<std::size_t>(shape[axis])) {
    for (int i = 0; i < shape.rank(); ++i) {
        if (i < axis) outer *= static_cast<std::size_t>(shape[i]);
        if (i > axis) inner *= static_cast<std::size_t>(shape[i]);
    }
}

void iota(const Call& call) {
    for (std::size_t i = 0; i < call.result().size(); ++i)
        call.result()[i] = static_cast<double>(i);
}

void cast(const Call& call) {
    const ValueType target = call.result_info().type;
    for (std::size_t i = 0; i < call.result().size(); ++i) {
        const double x = call.operand()[i];
        call.result()[i] = target == ValueType::real      ? rounded(x, call.precision)
                           : target == ValueType::integer ? truncated(x)
                           : x != 0.0                     ? 1.0
                                                          : 0.0;
    }
}

void copy(const Call& call) {
    call.result() = call.operand();
}

void permute(const Call& call) {
    const auto& order = call.attribute<PermuteAttribute>().order;
    const Shape& shape = call.result_info().shape;
    const auto strides = row_major_strides(call.operand_info(0).shape);
    for (std::size_t i = 0; i < call.result().size(); ++i) {
        auto rest = static_cast<std::int64_t>(i);
        std::int64_t position = 0;
        for (int axis = shape.rank() - 1; axis >= 0; --axis) {
            const auto from = static_cast<std::size_t>(order[static_cast<std::size_t>(axis)]);
            position += rest % shape[axis] * strides[from];
            rest /= shape[axis];
        }
        call.result()[i] = call.operand()[static_cast<std::size_t>(position)];
    }
}

void broadcast(const Call& call) {
    const BroadcastIndex index(call.operand_info(0).shape, call.result_info().shape);
    for (std::size_t i = 0; i < call.result().size(); ++i)
        call.result()[i] = call.operand()[index(i)];
}

void slice(const Call& call) {
    const auto& attribute = call.attribute<SliceAttribute>();
    const AxisView from(call.operand_info(0).shape, attribute.axis);
    const AxisView to(call.result_info().shape, attribute.axis);
    for (std::size_t o = 0; o < to.outer; ++o)
        for (std::size_t k = 0; k < to.extent; ++k)
            for (std::size_t i = 0; i < to.inner; ++i)
                call.result()[to.position(o, k, i)] = call.operand()[from.position(
                    o, k + static_cast<std::size_t>(attribute.start), i)];
}

void pad(const Call& call) {
    const auto& attribute = call.attribute<PadAttribute>();
    const AxisView from(call.operand_info(0).shape, attribute.axis);
    const AxisView to(call.result_info().shape, attribute.axis);
    for (std::size_t o = 0; o < from.outer; ++o)
        for (std::size_t k = 0; k < from.extent; ++k)
            for (std::size_t i = 0; i < from.inner; ++i)
                call.result()[to.position(o, k + static_cast<std::size_t>(attribute.before), i)] =
                    call.operand()[from.position(o, k, i)];
}

void concat(const Call& call) {
    const int axis = call.attribute<AxisAttribute>().axis;
    const AxisView to(call.result_info().shape, axis);
    std::size_t start = 0;
    for (std::size_t part = 0; part < call.operands.size(); ++part) {
        const AxisView from(call.operand_info(part).shape, axis);
        for (std::size_t o = 0; o < from.outer; ++o)
            for (std::size_t k = 0; k < from.extent; ++k)
                for (std::size_t i = 0; i < from.inner; ++i)
                    call.result()[to.position(o, start + k, i)] =
                        call.operand(part)[from.position(o, k, i)];
        start += from.extent;
    }
}

}  // namespace cambrian::reference
