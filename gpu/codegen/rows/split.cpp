#include <algorithm>

#include "cambrian/gpu/codegen/rows/ops.hpp"

// Whether ops work row by row. An operand that all rows share may have the extent of the row axis
// on axis 0: then each row reads its own part of it.
namespace cambrian::gpu {
namespace {

template <class Attribute>
const Attribute& attribute(const RowSite& context) {
    return std::get<Attribute>(context.node.attributes);
}

RowSplit rows_if(bool condition) {
    return condition ? RowSplit::rows : RowSplit::meets;
}

/// A shared operand that is an invariant of the scan as it is in memory.
bool is_invariant_input(const RowSite& context, std::size_t operand) {
    const auto inputs = context.graph.inputs();
    const auto found = std::ranges::find(inputs, context.id(operand));
    return found - inputs.begin() >= context.scan.carries + context.scan.sequences &&
           found != inputs.end();
}

/// A product whose rows are those of its left matrix.
bool splits_left_matrix(const RowSite& context, bool transposed) {
    return context.has(0) && !context.has(1) && !transposed && context.shape(0).rank() == 2 &&
           context.shape(1).rank() == 2;
}

/// A product whose rows are its first batch axis.
bool splits_batch(const RowSite& context, std::size_t operand) {
    const int rank = context.result().shape.rank();
    return !context.has(operand) || (rank > 2 && context.shape(operand).rank() == rank);
}

}  // namespace

RowSplit row_split::never(const RowSite&) {
    return RowSplit::meets;
}

RowSplit row_split::shared(const RowSite&) {
    return RowSplit::shared;
}

RowSplit row_split::elementwise(const RowSite& context) {
    if (!context.any()) return RowSplit::shared;
    bool aligned = true;
    for (std::size_t i = 0; i < context.node.operand_count; ++i)
        aligned = aligned &&
                  (!context.has(i) || context.shape(i).rank() == context.result().shape.rank());
    return rows_if(aligned);
}

RowSplit row_split::reduce(const RowSite& context) {
    if (!context.has(0)) return RowSplit::shared;
    return rows_if(attribute<AxisAttribute>(context).axis != 0);
}

RowSplit row_split::reshape(const RowSite& context) {
    if (!context.has(0)) return RowSplit::shared;
    const Shape& shape = context.result().shape;
    return rows_if(shape.rank() > 0 && shape[0] == context.rows);
}

RowSplit row_split::permute(const RowSite& context) {
    if (!context.has(0)) return RowSplit::shared;
    return rows_if(attribute<PermuteAttribute>(context).order[0] == 0);
}

RowSplit row_split::broadcast(const RowSite& context) {
    if (!context.has(0)) return RowSplit::shared;
    return rows_if(context.shape(0).rank() == context.result().shape.rank());
}

RowSplit row_split::slice(const RowSite& context) {
    if (!context.has(0)) return RowSplit::shared;
    return rows_if(attribute<SliceAttribute>(context).axis != 0);
}

RowSplit row_split::pad(const RowSite& context) {
    if (!context.has(0)) return RowSplit::shared;
    return rows_if(attribute<PadAttribute>(context).axis != 0);
}

RowSplit row_split::concat(const RowSite& context) {
    if (!context.any()) return RowSplit::shared;
    return rows_if(attribute<AxisAttribute>(context).axis != 0);
}

RowSplit row_split::matmul(const RowSite& context) {
    if (!context.any()) return RowSplit::shared;
    if (splits_left_matrix(context, attribute<MatmulAttribute>(context).transpose_left))
        return RowSplit::rows;
    return rows_if(splits_batch(context, 0) && splits_batch(context, 1));
}

RowSplit row_split::gather(const RowSite& context) {
    if (context.has(0) || context.shape(0)[0] == 0) return RowSplit::meets;
    return context.has(1) ? RowSplit::rows : RowSplit::shared;
}

RowSplit row_split::random(const RowSite& context) {
    if (context.has(0)) return RowSplit::meets;
    return context.has(1) ? RowSplit::rows : RowSplit::shared;
}

RowSplit row_split::interpret(const RowSite& context) {
    if (!is_invariant_input(context, 0) || !is_invariant_input(context, 1)) return RowSplit::meets;
    const Shape& rows = context.shape(2);
    if (rows.rank() == 2 && rows[0] == context.rows && context.rows > 1) return RowSplit::rows;
    // All rows share what the network computes only where it computes one.
    const bool one = rows.elements() == rows[-1];
    return one && !context.has(2) && !context.has(3) ? RowSplit::shared : RowSplit::meets;
}

}  // namespace cambrian::gpu
