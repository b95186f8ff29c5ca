#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/tensor/shape.hpp"
#include "cambrian/engine/tensor/tensor.hpp"
#include "cambrian/engine/weights/dtype.hpp"

namespace cambrian {

enum class ValueId : std::uint32_t;
class Graph;
class GradientContext;
struct Var;

/// Every operation a graph can hold. One row of op_table.inl each.
enum class Op : std::uint8_t {
#define CAMBRIAN_OP(name, ...) name,
#include "cambrian/engine/graph/op_table.inl"
    count_,
};
inline constexpr std::size_t op_count = static_cast<std::size_t>(Op::count_);

/// What kind of op it is, as the macro of its row says.
enum class OpKind : std::uint8_t { bound, elementwise, fold, movement, other };
inline constexpr std::array<OpKind, op_count> op_kinds{
#define CAMBRIAN_OP(name, ...) OpKind::other,
#define CAMBRIAN_BOUND(name, ...) OpKind::bound,
#define CAMBRIAN_ELEMENTWISE(name, ...) OpKind::elementwise,
#define CAMBRIAN_FOLD(name, ...) OpKind::fold,
#define CAMBRIAN_MOVEMENT(name, ...) OpKind::movement,
#include "cambrian/engine/graph/op_table.inl"
};
[[nodiscard]] constexpr OpKind kind_of(Op op) {
    return op_kinds[static_cast<std::size_t>(op)];
}
/// In memory before a run, so that nothing computes it: an input or a constant.
[[nodiscard]] constexpr bool is_bound(Op op) {
    return kind_of(op) == OpKind::bound;
}
/// Reads and writes the same position of every (broadcast) operand.
[[nodiscard]] constexpr bool is_elementwise(Op op) {
    return kind_of(op) == OpKind::elementwise;
}
/// A reduction that a fusion group may hold.
[[nodiscard]] constexpr bool is_fold(Op op) {
    return kind_of(op) == OpKind::fold;
}
/// The elements of its result are its operands', or zeros, at other positions.
[[nodiscard]] constexpr bool is_movement(Op op) {
    return kind_of(op) == OpKind::movement;
}

/// The activation functions a layer may use, in the order of their gene codes.
enum class Activation : std::uint8_t {
#define CAMBRIAN_ACTIVATION(name, ...) name,
#include "cambrian/engine/graph/activation_table.inl"
};
/// One row of the table of activations; what its members say is told there.
struct ActivationInfo {
    std::string_view name;
    bool rectifier = false;
    bool keeps_zero = false;
    std::string_view formula;
};
inline constexpr std::array activation_table{
#define CAMBRIAN_ACTIVATION(name, ...) ActivationInfo{__VA_ARGS__},
#include "cambrian/engine/graph/activation_table.inl"
};
inline constexpr std::array activation_names{
#define CAMBRIAN_ACTIVATION(name, text, ...) std::string_view(text),
#include "cambrian/engine/graph/activation_table.inl"
};
[[nodiscard]] std::string_view name(Activation activation);
[[nodiscard]] constexpr const ActivationInfo& info_of(Activation activation) {
    return activation_table[static_cast<std::size_t>(activation)];
}

/// Which activations a code may name where it is not known when a program is compiled. The first
/// ones of the table are in every kernel; what runs networks with others is compiled apart, so that
/// nobody pays for functions that are not used.
enum class ActivationSet : std::uint8_t { common, any };
inline constexpr std::size_t common_activations = 6;
[[nodiscard]] constexpr std::size_t count_of(ActivationSet set) {
    return set == ActivationSet::any ? activation_names.size() : common_activations;
}
[[nodiscard]] constexpr bool is_common(Activation activation) {
    return static_cast<std::size_t>(activation) < common_activations;
}
/// The code itself, or that of the identity where it is outside a set.
[[nodiscard]] constexpr std::int32_t known_code(std::int32_t code, ActivationSet set) {
    return code >= 0 && static_cast<std::size_t>(code) < count_of(set) ? code : 0;
}
/// The op that applies activations by code, and back.
[[nodiscard]] constexpr Op activation_op(ActivationSet set) {
    return set == ActivationSet::any ? Op::activate_any : Op::activate;
}
[[nodiscard]] constexpr ActivationSet activation_set(Op op) {
    return op == Op::activate_any ? ActivationSet::any : ActivationSet::common;
}

/// Which neurons an op `neurons` of a bytecode may have, by how much their kernel must be able to;
/// each set holds those before it. Kernels of a GPU are compiled for one of them, so that nobody
/// pays for what is not used.
enum class NeuronSet : std::uint8_t {
    none,    ///< There is no such op.
    sums,    ///< Sums through a common activation or steep_sigmoid; no weight or value keeps on.
    any,     ///< Every activation and aggregation, also in continuous time.
    plastic  ///< Weights may change.
};

/// Attributes of one axis: reductions, argmax, concat, flip, take_along_axis.
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

/// Running sums along an axis: result i is the sum of elements 0 to i (exclusive: 0 to i - 1), from
/// the first to the last; reverse: of elements i (exclusive: i + 1) to the last, from the last.
struct CumsumAttribute {
    int axis = 0;
    bool exclusive = false;
    bool reverse = false;
    bool operator==(const CumsumAttribute&) const = default;
};
/// A stable order along an axis; NaN counts as above every number. Results: the sorted elements and
/// the index (integer) each came from.
struct SortAttribute {
    int axis = 0;
    bool descending = false;
    bool operator==(const SortAttribute&) const = default;
};
/// The `count` largest along an axis, largest first, ties by index. Results like sort's.
struct TopkAttribute {
    int axis = 0;
    std::int64_t count = 0;
    bool operator==(const TopkAttribute&) const = default;
};
/// The extent of the result along the axis that indices point into.
struct ScatterAlongAttribute {
    int axis = 0;
    std::int64_t extent = 0;
    bool operator==(const ScatterAlongAttribute&) const = default;
};

/// Windows that slide over the last `rank` axes (1 to 3) of a value: window o starts at element
/// o × stride − before and its tap t lies t × dilation further. Extents of the result:
/// (extent + before + after − dilation × (kernel − 1) − 1) / stride + 1, rounded down.
struct Window {
    static constexpr int max_rank = 3;
    using Extents = std::array<std::int64_t, max_rank>;
    int rank = 1;
    Extents kernel{1, 1, 1};
    Extents stride{1, 1, 1};
    Extents dilation{1, 1, 1};
    Extents before{};
    Extents after{};
    bool operator==(const Window&) const = default;
};
/// What a window reads outside of its operand.
enum class Padding : std::uint8_t { zero, lowest };
/// im2col: [.., s1 .. sr] → [.., taps, o1 .. or], tap positions row-major. col2im, its
/// adjoint: [.., taps, o1 .. or] → [.., extents], taps of one element added in order of tap.
struct Im2colAttribute {
    Window window;
    Padding padding = Padding::zero;  ///< Of im2col.
    Window::Extents extents{};        ///< Of the result of col2im.
    bool operator==(const Im2colAttribute&) const = default;
};
/// Rows of so many numbers in the codes of a format of weights, as graph/packed_rows.hpp lays them
/// out. unpack: words [.., words of a row], scales [.., groups of a row] and words of zero points
/// where the format has them → [.., length]. packed_matmul: x [.., m, length], then those of a
/// matrix of n rows → [.., m, n].
struct PackedAttribute {
    Dtype dtype = Dtype::int8;
    std::int64_t length = 0;
    /// Where they are not those of the format: row or block.
    std::optional<ScaleGroup> scales{};
    bool operator==(const PackedAttribute&) const = default;
};

/// Operands: x [N.., C, s1 .. sr], weights [O, C / groups, k1 .. kr] and, with the flag, bias [O] →
/// [N.., O, o1 .. or]. Packed: in the place of weights the parts of a matrix of O rows, as unpack
/// has them.
struct ConvAttribute {
    Window window;
    std::int64_t groups = 1;
    bool bias = false;
    std::optional<PackedAttribute> packed{};
    bool operator==(const ConvAttribute&) const = default;
};

/// Formats numbers are stored in. Codes are packed from the low bits of a word on, rows (last axis)
/// padded to whole words with zeros.
enum class NumberFormat : std::uint8_t { f16, bf16, f8_e4m3, f8_e5m2, i8, f4_e2m1 };
[[nodiscard]] std::string_view name(NumberFormat format);
/// encode: real [.., length] → integer [.., words]; decode: the way back.
struct FormatAttribute {
    NumberFormat format = NumberFormat::f16;
    std::int64_t length = 0;
    bool operator==(const FormatAttribute&) const = default;
};

/// Operands: q [.., Hq, Sq, D], k [.., Hk, Sk, D], v [.., Hk, Sk, E], Hq a multiple of Hk (query
/// head h reads head h / (Hq / Hk)); with `valid` an integer scalar: how many of the Sk keys count
/// (below 0 none, above Sk all). Query i sees key j iff j < valid and, causal, j ≤ i + valid − Sq.
/// Results: o [.., Hq, Sq, E] and the log-sum-exp of the scaled scores [.., Hq, Sq]; a query that
/// sees no key gives zeros and −∞.
struct AttentionAttribute {
    double scale = 1.0;
    bool causal = false;
    bool valid = false;
    bool operator==(const AttentionAttribute&) const = default;
};

/// Attention of the row after those of a cache. Operands: q [.., Hq, 1, D], cached keys [.., Hk, C,
/// D] and values [.., Hk, C, E], the row's own k [.., Hk, 1, D] and v [.., Hk, 1, E], and its
/// position p, an integer for the leading axes [..] (below 0 counts as 0, above C as C). The query
/// sees the cached keys before p and its own; with a window the last so many of these. What the
/// cache holds from p on does not matter. Result: o [.., Hq, 1, E].
struct CachedAttentionAttribute {
    double scale = 1.0;
    std::int64_t window = 0;  ///< 0: all.
    bool operator==(const CachedAttentionAttribute&) const = default;
};

/// How a continuous state space becomes steps: zero-order hold, or Euler (the input weight is Δ B).
enum class Discretization : std::uint8_t { zero_order_hold, euler };
inline constexpr std::array<std::string_view, 2> discretization_names{"zoh", "euler"};
/// Operands: u [.., L, D], raw Δ [.., L, D], log of −A [D, N], B [.., L, N], C [.., L, N], skip
/// [D], state [.., D, N]. Results: y [.., L, D] and the state after the last step.
struct SelectiveScanAttribute {
    Discretization discretization = Discretization::zero_order_hold;
    bool operator==(const SelectiveScanAttribute&) const = default;
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
    /// Of the gradient; k > 0 cuts the walk into chunks of k steps, the last one perhaps shorter,
    /// and no gradient flows from one into the one before: the carries that enter steps k, 2k, ..
    /// in the order they are walked count as constants. Initial carries have gradients of the first
    /// chunk alone, sequences and invariants those of every step.
    std::int64_t truncate = 0;
    /// Of the gradient; k > 0 keeps only the carries before steps 0, k, 2k, .. in the order they
    /// are walked, and computes each segment of k steps anew when the gradient comes by. Equal to
    /// the plain gradient but for the order in which steps are added up for an invariant.
    std::int64_t checkpoint_every = 0;
};

/// What of a product is codes of a storage format, as of encode, in place of numbers: both
/// operands, with so many numbers in a row, and perhaps the result.
struct ProductCodes {
    NumberFormat format = NumberFormat::f16;
    std::int64_t left_length = 0;
    std::int64_t right_length = 0;
    bool result = false;
    bool operator==(const ProductCodes&) const = default;
};
/// A matrix product with an epilogue. Operands: left, right (of a packed matrix its parts), then
/// bias [n] and the gene code of an activation (integer, rank 0), each where its flag is set.
struct MatmulEpilogueAttribute {
    MatmulAttribute product;
    bool bias = false;
    bool activation = false;
    std::optional<ProductCodes> codes{};
    ActivationSet set = ActivationSet::common;  ///< Of the codes.
    /// The product is a packed_matmul; then `product` transposes right, perhaps left, too, and
    /// there are no codes.
    std::optional<PackedAttribute> packed{};
    bool operator==(const MatmulEpilogueAttribute&) const = default;
};

/// Many small nodes as one. The body has an input for each operand and one output, and holds
/// elementwise ops, constants and reductions along the last axis that keep it.
struct FusedAttribute {
    std::shared_ptr<const Graph> body;
};

/// A network that is data (see engine/network/bytecode/bytecode.hpp).
struct InterpretAttribute {
    std::int64_t outputs = 0;  ///< Width of the network's output.
    std::int64_t memory =
        0;  ///< Words of working memory that the longest bytecode needs for one row.
    /// Packed words of the largest network: no bytecode's `end` says more, and about the work of a
    /// row.
    std::int64_t weights = 0;
    NeuronSet neurons = NeuronSet::none;
    ActivationSet activations = ActivationSet::common;  ///< Of layers, see ActivationSet.
    bool operator==(const InterpretAttribute&) const = default;
};

using Attributes =
    std::variant<std::monostate, AxisAttribute, ShapeAttribute, PermuteAttribute, SliceAttribute,
                 PadAttribute, CastAttribute, MatmulAttribute, ConstantAttribute, InputAttribute,
                 LengthAttribute, ScanAttribute, MatmulEpilogueAttribute, FusedAttribute,
                 InterpretAttribute, CumsumAttribute, SortAttribute, TopkAttribute,
                 ScatterAlongAttribute, Im2colAttribute, ConvAttribute, FormatAttribute,
                 AttentionAttribute, CachedAttentionAttribute, SelectiveScanAttribute,
                 PackedAttribute>;

/// The attribute of a node, of the alternative its op uses.
template <class T>
const T& attribute(const Attributes& attributes) {
    const T* found = std::get_if<T>(&attributes);
    CAMBRIAN_ASSERT(found != nullptr);
    return *found;
}

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
    source,  ///< No operands decide: inputs have what the caller says, constants and iota are
             ///< shared.
    each,    ///< The op runs once for every individual; the result is per individual iff an operand
             ///< is.
    body,    ///< scan: carries become per individual when the body makes them so (fixed point). The
             ///< inputs of the node's body have the batch axes found; the initial value of such a
             ///< carry, or the body's new value of it, may still be shared and is then repeated for
             ///< every individual.
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

/// One row of the op table, whole: what rules and backends ask, and what documentation tells.
struct OpInfo {
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
    bool exact = false;     ///< Adds no elements up: bit-equal on every backend in any math.
    bool may_fail = false;  ///< Reports data errors at run time, such as an index out of range.
    /// Appends the primitives a fused op stands for and returns its results; null for a primitive.
    std::vector<Var> (*lowering)(Graph& graph, std::span<const Var> operands,
                                 const Attributes& attributes) = nullptr;
    /// Number of results; null means one.
    std::size_t (*result_count)(const Attributes& attributes) = nullptr;

    std::string_view meaning;   ///< One line, with the formula.
    std::string_view operands;  ///< Names, in order.
    std::string_view results;
    std::string_view shapes;  ///< The shape rule in words.
    std::string_view types;   ///< The type rule in words.
    std::string_view source;  ///< Where the definition comes from.
};

/// The table, one row for each op in enumerator order.
[[nodiscard]] std::span<const OpInfo, op_count> op_table();
[[nodiscard]] const OpInfo& op_info(Op op);
[[nodiscard]] std::string_view name(Op op);

/// How an op meets the population, where its gradient comes from, and whether it reports data
/// errors at run time, in words.
[[nodiscard]] std::string_view batch_text(const OpInfo& op);
[[nodiscard]] std::string_view gradient_text(const OpInfo& op);
[[nodiscard]] std::string_view data_errors_text(const OpInfo& op);

}  // namespace cambrian
