#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "cambrian/engine/tensor/shape.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian {

enum class ValueId : std::uint32_t;
class Graph;
class GradientContext;
struct Var;

/// Every operation a graph can hold. One row of the op table (op_table.cpp) each: adding an op is
/// one enumerator, one row, one kernel on each backend and one conformance case.
enum class Op : std::uint8_t {
    // sources
    input,
    constant,
    iota,
    random,
    // elementwise, one operand
    neg,
    abs,
    sign,
    round,
    floor,
    exp,
    log,
    sqrt,
    rsqrt,
    reciprocal,
    sin,
    cos,
    tanh,
    sigmoid,
    is_finite,
    logical_not,
    cast,
    stop_gradient,
    // elementwise, two and three operands, NumPy broadcasting
    add,
    sub,
    mul,
    div,
    min,
    max,
    less,
    equal,
    logical_and,
    logical_or,
    select,
    // reductions
    reduce_sum,
    reduce_max,
    argmax,
    // movement
    reshape,
    permute,
    broadcast,
    slice,
    pad,
    concat,
    // contraction, indexing, control
    matmul,
    gather,
    scatter_add,
    scan,
    interpret,
    // fused: each is its lowering; a backend may own a faster kernel
    activate,
    linear,
    chain,
    count_,
};
inline constexpr std::size_t op_count = static_cast<std::size_t>(Op::count_);

/// The activation functions a layer may use, in the order of their gene codes.
enum class Activation : std::uint8_t { linear, relu, silu, gelu, tanh, sigmoid };
inline constexpr std::array<std::string_view, 6> activation_names{"linear", "relu", "silu",
                                                                  "gelu",   "tanh", "sigmoid"};
[[nodiscard]] std::string_view name(Activation activation);

/// Attributes of one axis: reductions, argmax, concat.
struct AxisAttribute {
    int axis = 0;
    bool keep = false;
    bool operator==(const AxisAttribute&) const = default;
};
/// Target shape: reshape, broadcast.
struct ShapeAttribute {
    Shape shape;
    bool operator==(const ShapeAttribute&) const = default;
};
/// Result axis i is operand axis order[i].
struct PermuteAttribute {
    std::array<std::int8_t, Shape::max_rank> order{};
    bool operator==(const PermuteAttribute&) const = default;
};
/// Elements [start, start + length) of one axis.
struct SliceAttribute {
    int axis = 0;
    std::int64_t start = 0;
    std::int64_t length = 0;
    bool operator==(const SliceAttribute&) const = default;
};
/// Zeros before and after one axis.
struct PadAttribute {
    int axis = 0;
    std::int64_t before = 0;
    std::int64_t after = 0;
    bool operator==(const PadAttribute&) const = default;
};
/// Target type.
struct CastAttribute {
    ValueType type = ValueType::real;
    bool operator==(const CastAttribute&) const = default;
};
/// Which operands are read transposed in their last two axes.
struct MatmulAttribute {
    bool transpose_left = false;
    bool transpose_right = false;
    bool operator==(const MatmulAttribute&) const = default;
};
struct ConstantAttribute {
    std::shared_ptr<const Tensor> value;
};
/// Name, type and shape of an input; its position is the order of creation.
struct InputAttribute {
    std::shared_ptr<const std::string> name;
    ValueType type = ValueType::real;
    Shape shape;
};
/// iota: 0, 1, ... length-1 as integers. random: draws per id. scatter_add: rows of the result.
struct LengthAttribute {
    std::int64_t length = 0;
    bool operator==(const LengthAttribute&) const = default;
};

/// A loop over `length` steps. Operands: carries, then sequences (leading axis = step), then
/// invariants. The body's inputs are in that order (a sequence without its leading axis); its
/// outputs are the new carries, then the stacked results. Results: final carries, then each stacked
/// result [length, ...].
struct ScanAttribute {
    std::shared_ptr<const Graph> body;
    std::int64_t length = 0;
    int carries = 0;
    int sequences = 0;
    bool reverse =
        false;  ///< Walk the steps from last to first; sequences and results keep their positions.
    int alive_carry = -1;  ///< Index of a boolean carry; once it is all false for an individual,
                           ///< the body must be the identity on every carry, so a backend may stop.
                           ///< Needs a scan without stacked results.
};

/// A matrix product with an epilogue. Operands: left, right, then bias [n] and the gene code of an
/// activation (integer, rank 0), each where its flag is set.
struct LinearAttribute {
    MatmulAttribute product;
    bool bias = false;
    bool activation = false;
    bool operator==(const LinearAttribute&) const = default;
};

/// Many small nodes as one. The body has an input for each operand and one output, and holds
/// elementwise ops, constants and reductions along the last axis that keep it.
struct ChainAttribute {
    std::shared_ptr<const Graph> body;
};

/// A network that is data (see engine/network/tape.hpp).
struct InterpretAttribute {
    std::int64_t outputs = 0;  ///< Width of the network's output.
    std::int64_t memory = 0;   ///< Words of working memory that the longest tape needs for one row.
    bool operator==(const InterpretAttribute&) const = default;
};

using Attributes = std::variant<std::monostate, AxisAttribute, ShapeAttribute, PermuteAttribute,
                                SliceAttribute, PadAttribute, CastAttribute, MatmulAttribute,
                                ConstantAttribute, InputAttribute, LengthAttribute, ScanAttribute,
                                LinearAttribute, ChainAttribute, InterpretAttribute>;

/// Type, shape and population axis of one value.
struct ValueInfo {
    ValueType type = ValueType::real;
    Shape shape;  ///< Of one individual.
    bool per_individual =
        false;  ///< One such tensor for each individual of the population, or one shared by all.
    bool operator==(const ValueInfo&) const = default;
};

/// How an op meets the population axis.
enum class BatchRule : std::uint8_t {
    source,  ///< No operands decide: inputs are marked by the pass, constants and iota are shared.
    each,    ///< The op runs once for every individual; the result is per individual iff an operand
             ///< is.
    body,    ///< scan: carries become per individual when the body makes them so (fixed point). The
             ///< node's body is marked with the marks found; the initial value of such a carry, or
             ///< the body's new value of it, may still be shared and is then repeated for every
             ///< individual.
};

/// The operands of one node, as its rules see them.
class OperandInfos {
  public:
    OperandInfos(const std::deque<ValueInfo>& values, std::span<const ValueId> ids)
        : values_(values), ids_(ids) {}
    [[nodiscard]] std::size_t size() const { return ids_.size(); }
    [[nodiscard]] const ValueInfo& operator[](std::size_t index) const {
        return values_[static_cast<std::size_t>(ids_[index])];
    }
    [[nodiscard]] OperandInfos first(std::size_t count) const {
        return {values_, ids_.first(count)};
    }

  private:
    const std::deque<ValueInfo>& values_;
    std::span<const ValueId> ids_;
};

/// One row of the op table.
struct OpRow {
    Op op = Op::count_;
    std::string_view name;
    int arity = 0;  ///< Number of operands, or -1 for any number.
    /// Shape of one result; throws ShapeError with a reason (the caller adds op and operands).
    Shape (*shape)(const OperandInfos& operands, const Attributes& attributes,
                   std::size_t result) = nullptr;
    /// Type of one result; throws ShapeError on operand types that do not fit.
    ValueType (*type)(const OperandInfos& operands, const Attributes& attributes,
                      std::size_t result) = nullptr;
    BatchRule batch = BatchRule::each;
    /// Adds the adjoints of the operands, or null with differentiable = false.
    void (*gradient)(GradientContext& context) = nullptr;
    bool differentiable = true;
    bool elementwise = false;  ///< Reads and writes the same position of every (broadcast) operand.
    bool strict_safe = true;   ///< Bit-equal on every backend under engine.math = strict.
    /// The graph of primitives a fused op stands for; null for a primitive.
    Var (*lowering)(Graph& graph, std::span<const Var> operands,
                    const Attributes& attributes) = nullptr;
    /// Number of results; null means one.
    std::size_t (*result_count)(const Attributes& attributes) = nullptr;
    std::string_view meaning;  ///< One line for documentation, with the formula.
};

/// The table, one row for each op in enumerator order (checked at compile time).
[[nodiscard]] std::span<const OpRow, op_count> op_table();
[[nodiscard]] const OpRow& row(Op op);
[[nodiscard]] std::string_view name(Op op);

}  // namespace cambrian
