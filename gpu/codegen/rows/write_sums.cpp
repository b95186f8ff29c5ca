#include <algorithm>
#include <array>

#include "cambrian/gpu/codegen/fused/expressions.hpp"
#include "cambrian/gpu/codegen/rows/ops.hpp"
#include "cambrian/gpu/codegen/rows/writer.hpp"

// Reductions and products, in the order of the CPU kernels: from the first element to the last.
namespace cambrian::gpu {
namespace {

/// The view without its axis, as the first element along it, and how far the next one lies.
struct Reduced {
    View operand;
    Shape outer;  ///< With extent 1 on the axis.
    int axis = 0;
    std::int64_t length = 0;
};

Reduced reduced(const RowWriter& writer, const Node& node) {
    const ValueId id = writer.graph().operands(node)[0];
    Reduced result;
    result.operand = writer.view(id);
    result.axis = std::get<AxisAttribute>(node.attributes).axis - (writer.has_rows(id) ? 1 : 0);
    result.length = result.operand.shape[result.axis];
    result.outer = sliced(result.operand, result.axis, 0, 1).shape;
    return result;
}

std::string element_along(RowWriter& writer, const Reduced& reduced, std::span<const Index> at,
                          const Index& along) {
    std::vector<Index> indices(at.begin(), at.end());
    indices[static_cast<std::size_t>(reduced.axis)] = along;
    return writer.element(reduced.operand, indices);
}

/// Calls `step` for the positions 1 to length - 1 of the axis, in order.
template <class Step>
void walk_axis(RowWriter& writer, std::int64_t length, bool expand, const Step& step) {
    if (expand) {
        for (std::int64_t i = 1; i < length; ++i) step(Index(i));
        return;
    }
    const std::string variable = writer.fresh("k");
    writer.open("for (uint {0} = 1u; {0} < {1}u; ++{0})", variable, length);
    step(Index::variable(variable));
    writer.end();
}

/// Elements of an axis, or factors of a sum, that are written one after another.
constexpr std::int64_t max_unrolled = 64;

}  // namespace

void row_write::reduce(RowWriter& writer, const Node& node) {
    const Reduced from = reduced(writer, node);
    writer.begin(node);
    const ValueId id = result_of(node);
    const View result = writer.result(node, 0, from.outer);
    const Op fold = node.op == Op::reduce_sum ? Op::add : Op::max;
    const std::array types{result.type, result.type};
    const bool expand = from.length <= max_unrolled;
    writer.each(from.outer, from.length, [&](std::span<const Index> at) {
        const std::string to = writer.element(result, at);
        if (from.length == 0) return writer.line("{} = {}(0);", to, glsl_type(result.type));
        writer.line("{} = {};", to, element_along(writer, from, at, 0));
        walk_axis(writer, from.length, expand, [&](const Index& along) {
            const std::string next = element_along(writer, from, at, along);
            const std::array sum{to, next};
            const std::array largest{next, to};
            writer.line("{} = {};", to,
                        expression(fold, fold == Op::add ? sum : largest, types, result.type));
        });
    });
    writer.set(id, *reshaped(result, writer.row_shape(id)));
}

void row_write::argmax(RowWriter& writer, const Node& node) {
    const Reduced from = reduced(writer, node);
    writer.begin(node);
    const ValueId id = result_of(node);
    const View result = writer.result(node, 0, from.outer);
    const View largest = writer.local(from.operand.type, Shape{}, writer.fresh("largest"));
    const std::array types{largest.type, largest.type};
    const bool expand = from.length <= max_unrolled;
    writer.each(from.outer, 2 * from.length, [&](std::span<const Index> at) {
        const std::string to = writer.element(result, at);
        writer.line("{} = {};", largest.name, element_along(writer, from, at, 0));
        writer.line("{} = 0;", to);
        walk_axis(writer, from.length, expand, [&](const Index& along) {
            const std::string next = element_along(writer, from, at, along);
            const std::array pair{largest.name, next};
            const std::string larger =
                expression(Op::less, pair, types, ValueType::boolean) + " != 0";
            writer.line("{0} = {1} ? int({2}) : {0};", to, larger, along.text());
            writer.line("{0} = {1} ? {2} : {0};", largest.name, larger, next);
        });
    });
    writer.set(id, *reshaped(result, writer.row_shape(id)));
}

namespace {

/// Operands and result of a product with at least two axes each, the batch axes broadcast.
struct Product {
    View left;   ///< [.., m, k]
    View right;  ///< [.., k, n]
    Shape shape;
    std::int64_t k = 0;
};

View swapped(const View& view) {
    std::array<std::int8_t, Shape::max_rank> order{};
    const auto rank = static_cast<std::size_t>(view.shape.rank());
    for (std::size_t axis = 0; axis < rank; ++axis) order[axis] = static_cast<std::int8_t>(axis);
    std::swap(order[rank - 1], order[rank - 2]);
    return permuted(view, std::span(order).first(rank));
}

Shape with_matrix(const Shape& batch, std::int64_t rows, std::int64_t columns) {
    std::array<std::int64_t, Shape::max_rank> extents{};
    std::size_t rank = 0;
    for (const std::int64_t extent : batch.extents()) extents[rank++] = extent;
    extents[rank++] = rows;
    extents[rank++] = columns;
    return Shape(std::span(extents.data(), rank));
}

Product product_of(const RowWriter& writer, const Node& node) {
    const auto& flags = std::get<MatmulAttribute>(node.attributes);
    const ValueId id = result_of(node);
    std::vector<View> operands = writer.operands(node);
    const Shape shape = writer.row_shape(id);
    Product product{operands[0], operands[1], shape};
    // Rows of the left matrix: one of them is a matrix with one row.
    if (product.left.shape.rank() == 1) {
        product.left = *reshaped(product.left, Shape{1, product.left.shape[0]});
        product.shape = Shape{1, shape[0]};
    }
    // Then the right matrix is read whole, whatever its extents.
    if (product.shape.rank() == 2 && writer.has_rows(id) && shape.rank() == 1)
        product.right = writer.view(writer.graph().operands(node)[1]);
    if (flags.transpose_left) product.left = swapped(product.left);
    if (flags.transpose_right) product.right = swapped(product.right);
    product.k = product.left.shape[-1];
    const Shape batch(
        product.shape.extents().first(static_cast<std::size_t>(product.shape.rank() - 2)));
    product.left = broadcast_to(product.left, with_matrix(batch, product.shape[-2], product.k));
    product.right = broadcast_to(product.right, with_matrix(batch, product.k, product.shape[-1]));
    return product;
}

/// The next partial sum of a product.
std::string next_sum(Math math, const std::string& sum, const std::string& left,
                     const std::string& right) {
    return math == Math::strict ? fmt::format("{} + {} * {}", sum, left, right)
                                : fmt::format("fma({}, {}, {})", left, right, sum);
}

}  // namespace

void row_write::matmul(RowWriter& writer, const Node& node) {
    const Product product = product_of(writer, node);
    writer.begin(node);
    const ValueId id = result_of(node);
    const View result = writer.result(node, 0, product.shape);
    writer.each(product.shape, 2 * product.k, [&](std::span<const Index> at) {
        const std::string to = writer.element(result, at);
        const auto add = [&](const Index& k) {
            std::vector<Index> left(at.begin(), at.end());
            std::vector<Index> right(at.begin(), at.end());
            left[left.size() - 1] = k;
            right[right.size() - 2] = k;
            writer.line("{} = {};", to,
                        next_sum(writer.math(), to, writer.element(product.left, left),
                                 writer.element(product.right, right)));
        };
        writer.line("{} = 0.0;", to);
        if (product.k <= max_unrolled) {
            for (std::int64_t k = 0; k < product.k; ++k) add(k);
            return;
        }
        const std::string variable = writer.fresh("k");
        writer.open("for (uint {0} = 0u; {0} < {1}u; ++{0})", variable, product.k);
        add(Index::variable(variable));
        writer.end();
    });
    writer.set(id, *reshaped(result, writer.row_shape(id)));
}

}  // namespace cambrian::gpu
