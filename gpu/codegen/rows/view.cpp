#include "cambrian/gpu/codegen/rows/writer.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::gpu {
namespace {

std::size_t axis_index(int axis) {
    return static_cast<std::size_t>(axis);
}

}  // namespace

Index& Index::add(const Index& other, std::int64_t stride) {
    if (stride == 0) return *this;
    constant_ += other.constant_ * stride;
    for (const Term& term : other.terms_) {
        const auto found = std::ranges::find(terms_, term.variable, &Term::variable);
        if (found == terms_.end()) {
            terms_.push_back({term.variable, term.stride * stride});
        } else {
            found->stride += term.stride * stride;
        }
    }
    return *this;
}

bool Index::only(const std::string& variable) const {
    return std::ranges::all_of(terms_, [&](const Term& term) { return term.variable == variable; });
}

std::string Index::text() const {
    std::string text;
    for (const Term& term : terms_) {
        if (!text.empty()) text += " + ";
        text += term.variable;
        if (term.stride != 1) text += " * " + std::to_string(term.stride) + "u";
    }
    if (constant_ != 0 || text.empty())
        text += (text.empty() ? "" : " + ") + std::to_string(constant_) + "u";
    return text;
}

Index View::position(std::span<const Index> indices) const {
    CAMBRIAN_EXPECT(indices.size() == shape.extents().size());
    Index position = first;
    for (std::size_t axis = 0; axis < indices.size(); ++axis)
        position.add(indices[axis], strides[axis]);
    return position;
}

bool View::contiguous() const {
    if (kind == Kind::literal) return true;
    const auto whole = row_major_strides(shape);
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (shape[axis] != 1 && strides[axis_index(axis)] != whole[axis_index(axis)]) return false;
    return true;
}

Shape without_first_axis(const Shape& shape) {
    CAMBRIAN_EXPECT(shape.rank() > 0);
    return Shape(shape.extents().subspan(1));
}

View sliced(View view, int axis, std::int64_t start, std::int64_t length) {
    std::array<std::int64_t, Shape::max_rank> extents{};
    std::ranges::copy(view.shape.extents(), extents.begin());
    extents[axis_index(axis)] = length;
    view.first.add(start, view.strides[axis_index(axis)]);
    view.shape = Shape(std::span(extents.data(), axis_index(view.shape.rank())));
    return view;
}

View permuted(const View& view, std::span<const std::int8_t> order) {
    View result = view;
    std::array<std::int64_t, Shape::max_rank> extents{};
    for (std::size_t axis = 0; axis < order.size(); ++axis) {
        const auto from = static_cast<std::size_t>(order[axis]);
        extents[axis] = view.shape.extents()[from];
        result.strides[axis] = view.strides[from];
    }
    result.shape = Shape(std::span(extents.data(), order.size()));
    return result;
}

View broadcast_to(const View& view, const Shape& shape) {
    View result = view;
    result.strides = {};
    const int lead = shape.rank() - view.shape.rank();
    CAMBRIAN_EXPECT(lead >= 0);
    for (int axis = 0; axis < view.shape.rank(); ++axis)
        result.strides[axis_index(axis + lead)] =
            view.shape[axis] == 1 ? 0 : view.strides[axis_index(axis)];
    result.shape = shape;
    return result;
}

std::optional<View> reshaped(const View& view, const Shape& shape) {
    View result = view;
    result.shape = shape;
    if (view.contiguous()) {
        result.strides = row_major_strides(shape);
        if (view.kind == View::Kind::literal) result.strides = {};
        return result;
    }
    // Only axes of extent 1 may come and go.
    result.strides = {};
    int from = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] == 1) continue;
        while (from < view.shape.rank() && view.shape[from] == 1) ++from;
        if (from == view.shape.rank() || view.shape[from] != shape[axis]) return std::nullopt;
        result.strides[axis_index(axis)] = view.strides[axis_index(from++)];
    }
    return result;
}

View at_first(View view, const Index& index) {
    view.first.add(index, view.strides[0]);
    std::copy(view.strides.begin() + 1, view.strides.end(), view.strides.begin());
    view.strides.back() = 0;
    view.shape = without_first_axis(view.shape);
    return view;
}

}  // namespace cambrian::gpu
