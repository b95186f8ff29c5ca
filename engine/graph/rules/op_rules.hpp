#pragma once

#include <span>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"
#include "cambrian/engine/graph/rules/gradient_context.hpp"

// The functions the rows of the op table point to. Internal to engine/graph.
namespace cambrian {

namespace shape_rule {
/// The shape with another extent of one axis.
Shape with_extent(const Shape& shape, int axis, std::int64_t extent);
/// The extent of two parts of an axis together; throws the reason if no shape has as much.
std::int64_t joined_extent(std::int64_t first, std::int64_t second);
/// Throws the reason unless every position along an axis of that extent is an integer.
void check_positions(std::int64_t extent);
/// Throws the reason unless indices can point to positions along an axis of that extent.
void check_target(std::int64_t extent, const Shape& indices);

Shape input(const OperandInfos&, const Attributes&, std::size_t);
Shape constant(const OperandInfos&, const Attributes&, std::size_t);
Shape iota(const OperandInfos&, const Attributes&, std::size_t);
Shape random(const OperandInfos&, const Attributes&, std::size_t);
Shape same(const OperandInfos&, const Attributes&, std::size_t);
Shape broadcast_operands(const OperandInfos&, const Attributes&, std::size_t);
Shape activate(const OperandInfos&, const Attributes&, std::size_t);
Shape reduce(const OperandInfos&, const Attributes&, std::size_t);
Shape reduce_nonempty(const OperandInfos&, const Attributes&, std::size_t);
Shape argmax(const OperandInfos&, const Attributes&, std::size_t);
Shape reshape(const OperandInfos&, const Attributes&, std::size_t);
Shape permute(const OperandInfos&, const Attributes&, std::size_t);
Shape broadcast(const OperandInfos&, const Attributes&, std::size_t);
Shape slice(const OperandInfos&, const Attributes&, std::size_t);
Shape pad(const OperandInfos&, const Attributes&, std::size_t);
Shape concat(const OperandInfos&, const Attributes&, std::size_t);
Shape matmul(const OperandInfos&, const Attributes&, std::size_t);
Shape gather(const OperandInfos&, const Attributes&, std::size_t);
Shape scatter_add(const OperandInfos&, const Attributes&, std::size_t);
Shape scan(const OperandInfos&, const Attributes&, std::size_t);
Shape matmul_epilogue(const OperandInfos&, const Attributes&, std::size_t);
Shape fused(const OperandInfos&, const Attributes&, std::size_t);
Shape interpret(const OperandInfos&, const Attributes&, std::size_t);
Shape cumsum(const OperandInfos&, const Attributes&, std::size_t);
Shape sort(const OperandInfos&, const Attributes&, std::size_t);
Shape flip(const OperandInfos&, const Attributes&, std::size_t);
Shape im2col(const OperandInfos&, const Attributes&, std::size_t);
Shape col2im(const OperandInfos&, const Attributes&, std::size_t);
Shape encode(const OperandInfos&, const Attributes&, std::size_t);
Shape decode(const OperandInfos&, const Attributes&, std::size_t);
Shape unpack(const OperandInfos&, const Attributes&, std::size_t);
/// That of the matrix whose parts begin at an operand, which are checked; others may follow.
Shape packed_matrix(const OperandInfos&, std::size_t first, const PackedAttribute&);
/// That of x, transposed or not, times the matrix whose parts come after it.
Shape packed_product_shape(const OperandInfos&, const PackedAttribute&, bool transposed);
Shape packed_matmul(const OperandInfos&, const Attributes&, std::size_t);
Shape take_along_axis(const OperandInfos&, const Attributes&, std::size_t);
Shape scatter_add_along_axis(const OperandInfos&, const Attributes&, std::size_t);
Shape topk(const OperandInfos&, const Attributes&, std::size_t);
Shape conv(const OperandInfos&, const Attributes&, std::size_t);
Shape attention(const OperandInfos&, const Attributes&, std::size_t);
Shape attention_gradient(const OperandInfos&, const Attributes&, std::size_t);
Shape cached_attention(const OperandInfos&, const Attributes&, std::size_t);
Shape put_row(const OperandInfos&, const Attributes&, std::size_t);
Shape selective_scan(const OperandInfos&, const Attributes&, std::size_t);
Shape selective_scan_gradient(const OperandInfos&, const Attributes&, std::size_t);
}  // namespace shape_rule

namespace type_rule {
ValueType input(const OperandInfos&, const Attributes&, std::size_t);
ValueType constant(const OperandInfos&, const Attributes&, std::size_t);
ValueType integer(const OperandInfos&, const Attributes&, std::size_t);
ValueType random(const OperandInfos&, const Attributes&, std::size_t);
ValueType same(const OperandInfos&, const Attributes&, std::size_t);  ///< Any one type, kept.
ValueType real(const OperandInfos&, const Attributes&, std::size_t);  ///< All real.
ValueType numeric(const OperandInfos&, const Attributes&,
                  std::size_t);  ///< All real or all integer.
ValueType real_test(const OperandInfos&, const Attributes&, std::size_t);  ///< Real to boolean.
ValueType numeric_test(const OperandInfos&, const Attributes&,
                       std::size_t);  ///< Numeric to boolean.
ValueType equality(const OperandInfos&, const Attributes&,
                   std::size_t);  ///< Any one type to boolean.
ValueType index_of(const OperandInfos&, const Attributes&, std::size_t);  ///< Numeric to integer.
ValueType boolean(const OperandInfos&, const Attributes&, std::size_t);   ///< All boolean.
ValueType cast(const OperandInfos&, const Attributes&, std::size_t);
ValueType select(const OperandInfos&, const Attributes&, std::size_t);
ValueType gather(const OperandInfos&, const Attributes&, std::size_t);
ValueType scatter_add(const OperandInfos&, const Attributes&, std::size_t);
ValueType activate(const OperandInfos&, const Attributes&, std::size_t);
ValueType scan(const OperandInfos&, const Attributes&, std::size_t);
ValueType matmul_epilogue(const OperandInfos&, const Attributes&, std::size_t);
ValueType fused(const OperandInfos&, const Attributes&, std::size_t);
ValueType interpret(const OperandInfos&, const Attributes&, std::size_t);
ValueType sort(const OperandInfos&, const Attributes&, std::size_t);
ValueType encode(const OperandInfos&, const Attributes&, std::size_t);
ValueType decode(const OperandInfos&, const Attributes&, std::size_t);
ValueType unpack(const OperandInfos&, const Attributes&, std::size_t);
ValueType packed_matmul(const OperandInfos&, const Attributes&, std::size_t);
ValueType take_along_axis(const OperandInfos&, const Attributes&, std::size_t);
ValueType scatter_add_along_axis(const OperandInfos&, const Attributes&, std::size_t);
ValueType topk(const OperandInfos&, const Attributes&, std::size_t);
ValueType conv(const OperandInfos&, const Attributes&, std::size_t);
ValueType attention(const OperandInfos&, const Attributes&, std::size_t);
ValueType attention_gradient(const OperandInfos&, const Attributes&, std::size_t);
ValueType cached_attention(const OperandInfos&, const Attributes&, std::size_t);
ValueType put_row(const OperandInfos&, const Attributes&, std::size_t);
ValueType selective_scan(const OperandInfos&, const Attributes&, std::size_t);
ValueType selective_scan_gradient(const OperandInfos&, const Attributes&, std::size_t);
}  // namespace type_rule

/// One for each op that has a rule of its own, named like it.
namespace gradient_rule {
#define CAMBRIAN_OP(name, ...) void name(GradientContext&);
#include "cambrian/engine/graph/op_table.inl"
}  // namespace gradient_rule

/// Results of a scan: its carries and stacked values.
std::size_t scan_result_count(const Attributes& attributes);

/// Selects by integer code from the common activations, or from all; any other code is linear.
std::vector<Var> lower_activate(Graph& graph, std::span<const Var> operands,
                                const Attributes& attributes);
std::vector<Var> lower_activate_any(Graph& graph, std::span<const Var> operands,
                                    const Attributes& attributes);
/// matmul, then the bias added and the activation applied where there are any.
std::vector<Var> lower_matmul_epilogue(Graph& graph, std::span<const Var> operands,
                                       const Attributes& attributes);
/// unpack, then matmul.
std::vector<Var> lower_packed_matmul(Graph& graph, std::span<const Var> operands,
                                     const Attributes& attributes);
/// The nodes of the body.
std::vector<Var> lower_fused(Graph& graph, std::span<const Var> operands,
                             const Attributes& attributes);
/// The output and the new state.
std::size_t interpret_result_count(const Attributes& attributes);

std::vector<Var> lower_topk(Graph&, std::span<const Var>, const Attributes&);
std::vector<Var> lower_conv(Graph&, std::span<const Var>, const Attributes&);
std::vector<Var> lower_attention(Graph&, std::span<const Var>, const Attributes&);
std::vector<Var> lower_attention_gradient(Graph&, std::span<const Var>, const Attributes&);
std::vector<Var> lower_cached_attention(Graph&, std::span<const Var>, const Attributes&);
std::vector<Var> lower_put_row(Graph&, std::span<const Var>, const Attributes&);
std::vector<Var> lower_selective_scan(Graph&, std::span<const Var>, const Attributes&);
std::vector<Var> lower_selective_scan_gradient(Graph&, std::span<const Var>, const Attributes&);
/// Of sort, topk, attention and selective_scan.
std::size_t two_results(const Attributes& attributes);
/// Gradients of q, k and v.
std::size_t attention_gradient_result_count(const Attributes& attributes);
/// Gradients of the seven operands.
std::size_t selective_scan_gradient_result_count(const Attributes& attributes);

}  // namespace cambrian
