#include <algorithm>
#include <array>
#include <deque>
#include <span>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/activation.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/contraction.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"
#include "cambrian/engine/graph/number_format.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Rules and lowerings of activate, matmul_epilogue, fused and interpret.
namespace cambrian {
namespace {

/// Left and right of a linear as its matmul sees them: codes decoded.
class ProductOperands {
  public:
    ProductOperands(const OperandInfos& operands, const MatmulEpilogueAttribute& linear) {
        if (operands.size() < 2) reject("a product has two operands", "pass left and right");
        infos_ = {operands[0], operands[1]};
        if (!linear.codes) return;
        const std::array lengths{linear.codes->left_length, linear.codes->right_length};
        for (std::size_t i = 0; i < 2; ++i) {
            const FormatAttribute format{linear.codes->format, lengths[i]};
            const OperandInfos codes(infos_, std::span(ids_).subspan(i, 1));
            infos_[i] = {type_rule::decode(codes, format, 0), shape_rule::decode(codes, format, 0),
                         infos_[i].per_individual};
        }
    }
    [[nodiscard]] OperandInfos infos() const { return {infos_, ids_}; }

  private:
    std::deque<ValueInfo> infos_;
    std::array<ValueId, 2> ids_{ValueId{0}, ValueId{1}};
};

/// Left and the matrix or its parts.
std::size_t product_operands(const MatmulEpilogueAttribute& linear) {
    return 1 + (linear.packed ? packed_operands(linear.packed->dtype) : 1);
}

/// Those of a packed product, as far as they are there.
OperandInfos packed_product(const OperandInfos& operands, const MatmulEpilogueAttribute& linear) {
    return operands.first(std::min(operands.size(), product_operands(linear)));
}

/// The shape of the product as numbers.
Shape product_shape(const OperandInfos& operands, const MatmulEpilogueAttribute& linear) {
    if (!linear.packed)
        return shape_rule::matmul(ProductOperands(operands, linear).infos(), linear.product, 0);
    if (linear.codes || !linear.product.transpose_right)
        reject("a packed matrix is not multiplied like that",
               "transpose the right operand, and have numbers on the left");
    return shape_rule::packed_product_shape(packed_product(operands, linear), *linear.packed,
                                            linear.product.transpose_left);
}

void check_epilogue(const MatmulEpilogueAttribute& linear, const OperandInfos& operands,
                    std::int64_t n) {
    std::size_t next = product_operands(linear);
    if (operands.size() != next + (linear.bias ? 1 : 0) + (linear.activation ? 1 : 0))
        reject("the operands do not match the flags of the epilogue",
               "pass left, right, then bias and code where they are flagged");
    if (linear.bias) {
        const ValueInfo& bias = operands[next++];
        if (bias.type != ValueType::real || bias.shape != Shape{n})
            reject("the bias " + bias.shape.text() + " is not as wide as the product",
                   "pass a real bias [" + std::to_string(n) + "]");
    }
    if (linear.activation) {
        const ValueInfo& code = operands[next];
        if (code.type != ValueType::integer || code.shape.rank() != 0)
            reject("the activation code is not an integer scalar", "pass an integer of rank 0");
    }
}

void check_fused(const FusedAttribute& fused, const OperandInfos& operands) {
    if (fused.body == nullptr || fused.body->outputs().size() != 1 ||
        fused.body->inputs().size() != operands.size())
        reject("the body does not fit the operands",
               "give the body one input for each operand and one output");
    for (const Node& node : fused.body->nodes())
        if (may_divide_by_zero(*fused.body, node))
            reject("the body divides integers", "divide by a constant or outside of the chain");
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const ValueInfo& input = fused.body->value(fused.body->inputs()[i]);
        if (input.type != operands[i].type || input.shape != operands[i].shape)
            reject("body input " + std::to_string(i) + " is " + input.shape.text() +
                       " and receives " + operands[i].shape.text(),
                   "declare the body's inputs like the operands");
    }
}

Shape with_last_extent(const Shape& shape, std::int64_t extent) {
    std::array<std::int64_t, Shape::max_rank> extents{};
    const auto rank = static_cast<std::size_t>(shape.rank());
    for (std::size_t i = 0; i < rank; ++i) extents[i] = shape.extents()[i];
    extents[rank - 1] = extent;
    return Shape(std::span(extents.data(), rank));
}

void check_interpret(const InterpretAttribute& interpret, const OperandInfos& operands) {
    const Shape& rows = operands[2].shape;
    const Shape& state = operands[3].shape;
    if (operands[0].shape.rank() != 1 || operands[1].shape.rank() != 1 ||
        operands[0].shape[0] < 1 || operands[1].shape[0] < 1)
        reject("bytecode and weights are vectors", "pass bytecode [b] and weights [w]");
    if (rows.rank() == 0 || rows.rank() != state.rank() ||
        with_last_extent(rows, 1) != with_last_extent(state, 1))
        reject(
            "rows " + rows.text() + " and state " + state.text() + " differ before their last axis",
            "pass as many states as rows");
    if (rows[-1] < 1 || state[-1] < 1)
        reject("rows " + rows.text() + " or state " + state.text() + " have an empty last axis",
               "pass one word of state for each row where a network has none");
    if (interpret.outputs < 1 || interpret.memory < rows[-1] || interpret.weights < 1)
        reject("the outputs, the memory or the weights are too few",
               "take them from the capacity of the bytecode");
}

/// The activations of a set, all of which are computed, and one chosen.
Var one_of(Var x, Var code, ActivationSet set) {
    Var result = x;
    for (std::size_t known = 1; known < count_of(set); ++known) {
        const Var wanted = constant(*x.graph, static_cast<double>(known), ValueType::integer);
        result = select(equal(code, wanted), activate(x, static_cast<Activation>(known)), result);
    }
    return result;
}

}  // namespace

Shape shape_rule::matmul_epilogue(const OperandInfos& operands, const Attributes& attributes,
                                  std::size_t) {
    const auto& linear = attribute<MatmulEpilogueAttribute>(attributes);
    const Shape shape = product_shape(operands, linear);
    check_epilogue(linear, operands, shape[-1]);
    return linear.codes && linear.codes->result
               ? with_last_extent(shape, words_of(linear.codes->format, shape[-1]))
               : shape;
}

ValueType type_rule::matmul_epilogue(const OperandInfos& operands, const Attributes& attributes,
                                     std::size_t result) {
    const auto& linear = attribute<MatmulEpilogueAttribute>(attributes);
    if (linear.packed)
        return packed_matmul(packed_product(operands, linear), *linear.packed, result);
    real(ProductOperands(operands, linear).infos(), attributes, result);
    return linear.codes && linear.codes->result ? ValueType::integer : ValueType::real;
}

std::vector<Var> lower_activate(Graph&, std::span<const Var> operands, const Attributes&) {
    return {one_of(operands[0], operands[1], ActivationSet::common)};
}

std::vector<Var> lower_activate_any(Graph&, std::span<const Var> operands, const Attributes&) {
    return {one_of(operands[0], operands[1], ActivationSet::any)};
}

std::vector<Var> lower_matmul_epilogue(Graph& graph, std::span<const Var> operands,
                                       const Attributes& attributes) {
    const auto& linear = attribute<MatmulEpilogueAttribute>(attributes);
    std::size_t next = product_operands(linear);
    std::vector<Var> product(operands.begin(),
                             operands.begin() + static_cast<std::ptrdiff_t>(next));
    if (linear.codes)
        product = {decode(product[0], linear.codes->format, linear.codes->left_length),
                   decode(product[1], linear.codes->format, linear.codes->right_length)};
    if (linear.packed && linear.product.transpose_left) product[0] = transpose(product[0]);
    Var value = linear.packed ? graph.add(Op::packed_matmul, product, *linear.packed)
                              : graph.add(Op::matmul, product, linear.product);
    if (linear.bias) value = value + operands[next++];
    if (linear.activation) value = activate(value, operands[next], linear.set);
    if (linear.codes && linear.codes->result) value = encode(value, linear.codes->format);
    return {value};
}

Shape shape_rule::fused(const OperandInfos& operands, const Attributes& attributes, std::size_t) {
    const auto& fused = attribute<FusedAttribute>(attributes);
    check_fused(fused, operands);
    return fused.body->value(fused.body->outputs()[0]).shape;
}

ValueType type_rule::fused(const OperandInfos& operands, const Attributes& attributes,
                           std::size_t) {
    const auto& fused = attribute<FusedAttribute>(attributes);
    check_fused(fused, operands);
    return fused.body->value(fused.body->outputs()[0]).type;
}

std::vector<Var> lower_fused(Graph& graph, std::span<const Var> operands,
                             const Attributes& attributes) {
    return inline_graph(graph, *attribute<FusedAttribute>(attributes).body, operands);
}

std::size_t interpret_result_count(const Attributes&) {
    return 2;
}

std::size_t two_results(const Attributes&) {
    return 2;
}

std::size_t attention_gradient_result_count(const Attributes&) {
    return 3;
}

std::size_t selective_scan_gradient_result_count(const Attributes&) {
    return 7;
}

Shape shape_rule::interpret(const OperandInfos& operands, const Attributes& attributes,
                            std::size_t result) {
    const auto& interpret = attribute<InterpretAttribute>(attributes);
    check_interpret(interpret, operands);
    return result == 0 ? with_last_extent(operands[2].shape, interpret.outputs) : operands[3].shape;
}

ValueType type_rule::interpret(const OperandInfos& operands, const Attributes&, std::size_t) {
    if (operands[0].type != ValueType::integer || operands[1].type != ValueType::real ||
        operands[2].type != ValueType::real || operands[3].type != ValueType::real)
        reject("the bytecode is integer, everything else is real",
               "check the order of the operands");
    return ValueType::real;
}

}  // namespace cambrian
