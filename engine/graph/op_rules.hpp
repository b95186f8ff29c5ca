#pragma once

#include <source_location>
#include <string_view>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/gradient.hpp"
#include "cambrian/engine/graph/op.hpp"

// The functions the rows of the op table point to. Internal to engine/graph.
namespace cambrian {

/// Throws the reason of a rule: "(why) suggestion". Graph::add puts op and operands in front.
[[noreturn]] void reject(const std::string& why, const std::string& suggestion);

/// Throws ShapeError: `<op>: <operands> (<why>) <suggestion> at <file>:<line>`, where `reason` is
/// the text a rule threw.
[[noreturn]] void fail_node(Op op, const OperandInfos& operands, std::string_view reason,
                            std::source_location where);

/// The attribute of a node, of the alternative its op uses.
template <class T>
const T& attribute(const Attributes& attributes) {
    const T* found = std::get_if<T>(&attributes);
    CAMBRIAN_ASSERT(found != nullptr);
    return *found;
}

namespace shape_rule {
Shape input(const OperandInfos&, const Attributes&, std::size_t);
Shape constant(const OperandInfos&, const Attributes&, std::size_t);
Shape iota(const OperandInfos&, const Attributes&, std::size_t);
Shape random(const OperandInfos&, const Attributes&, std::size_t);
Shape same(const OperandInfos&, const Attributes&, std::size_t);
Shape broadcast_operands(const OperandInfos&, const Attributes&, std::size_t);
Shape activate(const OperandInfos&, const Attributes&, std::size_t);
Shape reduce(const OperandInfos&, const Attributes&, std::size_t);
Shape reduce_nonempty(const OperandInfos&, const Attributes&, std::size_t);
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
Shape linear(const OperandInfos&, const Attributes&, std::size_t);
Shape chain(const OperandInfos&, const Attributes&, std::size_t);
Shape interpret(const OperandInfos&, const Attributes&, std::size_t);
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
ValueType linear(const OperandInfos&, const Attributes&, std::size_t);
ValueType chain(const OperandInfos&, const Attributes&, std::size_t);
ValueType interpret(const OperandInfos&, const Attributes&, std::size_t);
}  // namespace type_rule

namespace gradient_rule {
void neg(GradientContext&);
void abs(GradientContext&);
void exp(GradientContext&);
void log(GradientContext&);
void sqrt(GradientContext&);
void rsqrt(GradientContext&);
void reciprocal(GradientContext&);
void sin(GradientContext&);
void cos(GradientContext&);
void tanh(GradientContext&);
void sigmoid(GradientContext&);
void cast(GradientContext&);
void add(GradientContext&);
void sub(GradientContext&);
void mul(GradientContext&);
void div(GradientContext&);
void min(GradientContext&);
void max(GradientContext&);
void select(GradientContext&);
void reduce_sum(GradientContext&);
void reduce_max(GradientContext&);
void reshape(GradientContext&);
void permute(GradientContext&);
void broadcast(GradientContext&);
void slice(GradientContext&);
void pad(GradientContext&);
void concat(GradientContext&);
void matmul(GradientContext&);
void gather(GradientContext&);
void scatter_add(GradientContext&);
void scan(GradientContext&);
}  // namespace gradient_rule

/// Results of a scan: its carries and stacked values.
std::size_t scan_result_count(const Attributes& attributes);

/// Selects by integer code from the six activation functions; any other code is linear.
Var lower_activate(Graph& graph, std::span<const Var> operands, const Attributes& attributes);
/// matmul, then the bias added and the activation applied where there are any.
Var lower_linear(Graph& graph, std::span<const Var> operands, const Attributes& attributes);
/// The nodes of the body.
Var lower_chain(Graph& graph, std::span<const Var> operands, const Attributes& attributes);
/// The output and the new state.
std::size_t interpret_result_count(const Attributes& attributes);

}  // namespace cambrian
