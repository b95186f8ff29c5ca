#include <algorithm>

#include "cambrian/gpu/codegen/rows/ops.hpp"

// Whether ops work row by row. An operand that all rows share may have the extent of the row axis
// on axis 0: then each row reads its own part of it.
namespace cambrian::gpu {
namespace {

template <class Attribute>
const Attribute& attribute(const RowSite& site) {
    return std::get<Attribute>(site.node.attributes);
}

RowSplit rows_if(bool condition) {
    return condition ? RowSplit::rows : RowSplit::meets;
}

/// A shared operand that is an invariant of the scan as it is in memory.
bool is_invariant_input(const RowSite& site, std::size_t operand) {
    const auto inputs = site.graph.inputs();
    const auto found = std::ranges::find(inputs, site.id(operand));
    return found - inputs.begin() >= site.scan.carries + site.scan.sequences &&
           found != inputs.end();
}

/// A product whose rows are those of its left matrix.
bool splits_left_matrix(const RowSite& site, bool transposed) {
    return site.has(0) && !site.has(1) && !transposed && site.shape(0).rank() == 2 &&
           site.shape(1).rank() == 2;
}

/// A product whose rows are its first batch axis.
bool splits_batch(const RowSite& site, std::size_t operand) {
    const int rank = site.result().shape.rank();
    return !site.has(operand) || (rank > 2 && site.shape(operand).rank() == rank);
}

}  // namespace

RowSplit row_split::never(const RowSite&) {
    return RowSplit::meets;
}

RowSplit row_split::shared(const RowSite&) {
    return RowSplit::shared;
}

RowSplit row_split::elementwise(const RowSite& site) {
    if (!site.any()) return RowSplit::shared;
    bool aligned = true;
    for (std::size_t i = 0; i < site.node.operand_count; ++i)
        aligned = aligned && (!site.has(i) || site.shape(i).rank() == site.result().shape.rank());
    return rows_if(aligned);
}

RowSplit row_split::reduce(const RowSite& site) {
    if (!site.has(0)) return RowSplit::shared;
    return rows_if(attribute<AxisAttribute>(site).axis != 0);
}

RowSplit row_split::reshape(const RowSite& site) {
    if (!site.has(0)) return RowSplit::shared;
    const Shape& shape = site.result().shape;
    return rows_if(shape.rank() > 0 && shape[0] == site.rows);
}

RowSplit row_split::permute(const RowSite& site) {
    if (!site.has(0)) return RowSplit::shared;
    return rows_if(attribute<PermuteAttribute>(site).order[0] == 0);
}

RowSplit row_split::broadcast(const RowSite& site) {
    if (!site.has(0)) return RowSplit::shared;
    return rows_if(site.shape(0).rank() == site.result().shape.rank());
}

RowSplit row_split::slice(const RowSite& site) {
    if (!site.has(0)) return RowSplit::shared;
    return rows_if(attribute<SliceAttribute>(site).axis != 0);
}

RowSplit row_split::pad(const RowSite& site) {
    if (!site.has(0)) return RowSplit::shared;
    return rows_if(attribute<PadAttribute>(site).axis != 0);
}

RowSplit row_split::concat(const RowSite& site) {
    if (!site.any()) return RowSplit::shared;
    return rows_if(attribute<AxisAttribute>(site).axis != 0);
}

RowSplit row_split::matmul(const RowSite& site) {
    if (!site.any()) return RowSplit::shared;
    if (splits_left_matrix(site, attribute<MatmulAttribute>(site).transpose_left))
        return RowSplit::rows;
    return rows_if(splits_batch(site, 0) && splits_batch(site, 1));
}

RowSplit row_split::gather(const RowSite& site) {
    if (site.has(0) || site.shape(0)[0] == 0) return RowSplit::meets;
    return site.has(1) ? RowSplit::rows : RowSplit::shared;
}

RowSplit row_split::random(const RowSite& site) {
    if (site.has(0)) return RowSplit::meets;
    return site.has(1) ? RowSplit::rows : RowSplit::shared;
}

RowSplit row_split::interpret(const RowSite& site) {
    if (!is_invariant_input(site, 0) || !is_invariant_input(site, 1)) return RowSplit::meets;
    const Shape& rows = site.shape(2);
    if (rows.rank() == 2 && rows[0] == site.rows && site.rows > 1) return RowSplit::rows;
    // All rows share what the network computes only where it computes one.
    const bool one = rows.elements() == rows[-1];
    return one && !site.has(2) && !site.has(3) ? RowSplit::shared : RowSplit::meets;
}

}  // namespace cambrian::gpu
