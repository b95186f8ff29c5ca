#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/codegen/fused/expressions.hpp"
#include "cambrian/gpu/codegen/rows/ops.hpp"
#include "cambrian/gpu/codegen/rows/writer.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>

// Ops that only move elements: most of them are nothing but another view.
namespace cambrian::gpu {
namespace {

/// Axes in front of those of one row: 1 where the result has the row axis.
int row_axes(const RowWriter& writer, const Node& node) {
    return writer.has_rows(result_of(node)) ? 1 : 0;
}

View only_operand(RowWriter& writer, const Node& node) {
    return writer.view(writer.graph().operands(node)[0]);
}

/// In their bits: zeros have signs.
bool all_equal(const Tensor& tensor) {
    return std::ranges::adjacent_find(tensor.elements, std::not_equal_to<>{},
                                      std::bit_cast<std::uint64_t, double>) ==
           tensor.elements.end();
}

}  // namespace

void row_write::constant(RowWriter& writer, const Node& node) {
    const auto& tensor = std::get<ConstantAttribute>(node.attributes).value;
    View view;
    view.kind = View::Kind::constant;
    view.type = tensor->type;
    view.tensor = tensor;
    view.invariant = true;
    view.shape = tensor->shape;
    view.strides = row_major_strides(tensor->shape);
    if (!tensor->elements.empty() && all_equal(*tensor)) {
        const std::vector<Index> first(static_cast<std::size_t>(tensor->shape.rank()));
        view.name = writer.element(view, first);
        view.kind = View::Kind::literal;
        view.strides = {};
    }
    writer.set(result_of(node), std::move(view));
}

void row_write::iota(RowWriter& writer, const Node& node) {
    View view;
    view.kind = View::Kind::position;
    view.type = ValueType::integer;
    view.invariant = true;
    view.shape = writer.graph().value(result_of(node)).shape;
    view.strides = row_major_strides(view.shape);
    writer.set(result_of(node), std::move(view));
}

void row_write::same(RowWriter& writer, const Node& node) {
    writer.set(result_of(node), only_operand(writer, node));
}

void row_write::reshape(RowWriter& writer, const Node& node) {
    const View view = only_operand(writer, node);
    const Shape shape = writer.row_shape(result_of(node));
    std::optional<View> result = reshaped(view, shape);
    if (!result) {
        writer.begin(node);
        result = reshaped(writer.copied(view), shape);
    }
    writer.set(result_of(node), std::move(*result));
}

void row_write::permute(RowWriter& writer, const Node& node) {
    const int lead = row_axes(writer, node);
    const auto& order = std::get<PermuteAttribute>(node.attributes).order;
    std::array<std::int8_t, Shape::max_rank> row_order{};
    const View view = only_operand(writer, node);
    const auto rank = static_cast<std::size_t>(view.shape.rank());
    for (std::size_t axis = 0; axis < rank; ++axis)
        row_order[axis] =
            static_cast<std::int8_t>(order[axis + static_cast<std::size_t>(lead)] - lead);
    writer.set(result_of(node), permuted(view, std::span(row_order).first(rank)));
}

void row_write::broadcast(RowWriter& writer, const Node& node) {
    writer.set(result_of(node),
               broadcast_to(only_operand(writer, node), writer.row_shape(result_of(node))));
}

void row_write::slice(RowWriter& writer, const Node& node) {
    const auto& slice = std::get<SliceAttribute>(node.attributes);
    writer.set(result_of(node),
               sliced(only_operand(writer, node), slice.axis - row_axes(writer, node), slice.start,
                      slice.length));
}

void row_write::pad(RowWriter& writer, const Node& node) {
    const auto& pad = std::get<PadAttribute>(node.attributes);
    const View view = only_operand(writer, node);
    const Shape shape = writer.row_shape(result_of(node));
    const int axis = pad.axis - row_axes(writer, node);
    writer.begin(node);
    const View result = writer.result(node, 0, shape);
    const std::string zero = view.type == ValueType::real ? "0.0" : "0";
    const auto fill = [&](std::int64_t start, std::int64_t length) {
        const View part = sliced(result, axis, start, length);
        writer.each(part.shape, 1, [&](std::span<const Index> at) {
            writer.line("{} = {};", writer.element(part, at), zero);
        });
    };
    fill(0, pad.before);
    fill(pad.before + view.shape[axis], pad.after);
    writer.copy(sliced(result, axis, pad.before, view.shape[axis]), view);
    writer.set(result_of(node), result);
}

void row_write::concat(RowWriter& writer, const Node& node) {
    const ValueId id = result_of(node);
    const int axis = std::get<AxisAttribute>(node.attributes).axis - row_axes(writer, node);
    writer.begin(node);
    const View result = writer.result(node, 0, writer.row_shape(id));
    std::int64_t start = 0;
    for (const ValueId part : writer.graph().operands(node)) {
        const View view =
            writer.operand(part, writer.has_rows(id), writer.graph().value(id).shape.rank());
        writer.copy(sliced(result, axis, start, view.shape[axis]), view);
        start += view.shape[axis];
    }
    writer.set(id, result);
}

void row_write::gather(RowWriter& writer, const Node& node) {
    const auto ids = writer.graph().operands(node);
    const View table = writer.view(ids[0]);
    const View indices = writer.view(ids[1]);
    const std::int64_t rows = table.shape[0];
    const bool empty = writer.graph().value(ids[0]).shape.elements() == 0;
    const ValueId id = result_of(node);
    writer.need_functions("status", shader_text("cambrian/gpu/shaders/status.glsl"));
    writer.reports = true;
    writer.begin_step();  // A scan without steps looks nothing up.
    const View result = writer.result(node, 0, writer.row_shape(id));
    const std::string wanted = writer.fresh("index");
    const std::string found = writer.fresh("found");
    writer.line("int {};", wanted);
    writer.line("uint {};", found);
    writer.each(indices.shape, 2, [&](std::span<const Index> at) {
        writer.line("{} = {};", wanted, writer.element(indices, at));
        writer.line("{0} = uint({1}) < {2}u ? uint({1}) : 0u;", found, wanted, rows);
        // Indices of rows without elements are not looked at, on any backend.
        if (!empty)
            writer.line(
                "if (uint({0}) >= {1}u) report(Words(entry_address({2}u, 0u)), {3}u, uint({0}));",
                wanted, rows, writer.status_entry,
                static_cast<std::uint32_t>(DataError::gather_out_of_range));
        View part = result;
        for (const Index& index : at) part = at_first(part, index);
        writer.copy(part, at_first(table, Index::variable(found)));
    });
    writer.set(id, result);
}

}  // namespace cambrian::gpu
