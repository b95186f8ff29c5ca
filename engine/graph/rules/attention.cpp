#include <array>
#include <limits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/attention_sizes.hpp"
#include "cambrian/engine/graph/builders/activation.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/contraction.hpp"
#include "cambrian/engine/graph/builders/index.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Rules and lowerings of attention and attention_gradient.
namespace cambrian {
namespace {

// Operands of either op.
constexpr std::size_t query = 0;
constexpr std::size_t key = 1;
constexpr std::size_t value = 2;
// Of attention_gradient.
constexpr std::size_t log_of_sum = 3;
constexpr std::size_t upstream = 4;
constexpr std::size_t offset = 5;
constexpr std::size_t attention_operands = 3;
constexpr std::size_t gradient_operands = 6;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The extents with the last axis replaced.
Shape with_last(const Shape& shape, std::int64_t extent) {
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    extents.back() = extent;
    return Shape(std::span<const std::int64_t>(extents));
}

Shape without_last(const Shape& shape) {
    return Shape(shape.extents().first(shape.extents().size() - 1));
}

/// Before its last three axes: heads, positions, width.
Shape leading(const Shape& shape) {
    return Shape(shape.extents().first(shape.extents().size() - 3));
}

void check_count(const OperandInfos& operands, std::size_t count, bool valid) {
    if (operands.size() != count + (valid ? 1 : 0))
        reject("the operands do not match the flag `valid`",
               "pass " + std::to_string(count) + " operands, and valid where it is flagged");
    if (valid && operands[count].shape.rank() != 0)
        reject("valid " + operands[count].shape.text() + " is not a scalar",
               "pass one integer of rank 0");
}

void check_heads(const Shape& q, const Shape& k, const Shape& v) {
    if (q.rank() < 3 || k.rank() != q.rank() || v.rank() != q.rank())
        reject("q, k and v have " + std::to_string(q.rank()) + ", " + std::to_string(k.rank()) +
                   " and " + std::to_string(v.rank()) + " axes",
               "pass q [.., heads, queries, width], k and v [.., key heads, keys, width]");
    if (leading(q) != leading(k) || leading(q) != leading(v))
        reject("the axes before the heads differ", "make them equal");
    if (k[-3] != v[-3] || k[-2] != v[-2])
        reject("k and v differ in heads or keys", "give every key its value");
    if (k[-3] < 1 || q[-3] % k[-3] != 0)
        reject(std::to_string(q[-3]) + " query heads are no multiple of " + std::to_string(k[-3]) +
                   " key heads",
               "let every key head serve as many query heads");
    if (q[-1] != k[-1])
        reject("queries are " + std::to_string(q[-1]) + " wide and keys " + std::to_string(k[-1]),
               "make them equally wide");
    if (q[-2] < 1 || k[-2] < 1 || k[-1] < 1 || v[-1] < 1)
        reject("there are no queries, no keys or they have no width", "pass at least one");
}

void check_attention(const OperandInfos& operands, const Attributes& attributes) {
    check_count(operands, attention_operands, attribute<AttentionAttribute>(attributes).valid);
    check_heads(operands[query].shape, operands[key].shape, operands[value].shape);
}

void check_gradient(const OperandInfos& operands, const Attributes& attributes) {
    check_count(operands, gradient_operands, attribute<AttentionAttribute>(attributes).valid);
    const Shape& q = operands[query].shape;
    const Shape& v = operands[value].shape;
    check_heads(q, operands[key].shape, v);
    if (operands[log_of_sum].shape != without_last(q) || operands[offset].shape != without_last(q))
        reject("log-sum-exp and offset are not one number a query",
               "pass both as " + without_last(q).text());
    if (operands[upstream].shape != with_last(q, v[-1]))
        reject("the upstream " + operands[upstream].shape.text() + " is not like the output",
               "pass it as " + with_last(q, v[-1]).text());
}

void check_types(const OperandInfos& operands, std::size_t reals) {
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (operands[i].type != (i < reals ? ValueType::real : ValueType::integer))
            reject("operand " + std::to_string(i) + " is " + std::string(name(operands[i].type)),
                   "pass real tensors, and valid as an integer");
}

/// What both lowerings begin with: q, k and v as matrices, one set for each key head.
class Scores {
  public:
    Scores(Graph& graph, std::span<const Var> operands, const AttentionAttribute& attention,
           std::size_t tensors)
        : graph_(graph),
          attention_(attention),
          sizes_(attention_sizes(operands[query].shape(), operands[key].shape(),
                                 operands[value].shape())) {
        if (attention.valid) {
            const Var none = constant(graph, 0.0, ValueType::integer);
            const Var all = constant(graph, static_cast<double>(sizes_.keys), ValueType::integer);
            valid_ = min(max(operands[tensors], none), all);
        }
        queries = rows(operands[query]);
        keys = counted(operands[key]);
        values = counted(operands[value]);
    }

    [[nodiscard]] const AttentionSizes& sizes() const { return sizes_; }

    /// [.., heads, queries, w] as [key heads, rows, w].
    [[nodiscard]] Var rows(Var x) const {
        return reshape(x, {sizes_.key_heads, sizes_.rows, x.shape()[-1]});
    }
    /// One number a query, as a column beside the scores.
    [[nodiscard]] Var column(Var x) const { return reshape(x, {sizes_.key_heads, sizes_.rows, 1}); }
    /// Scaled scores less `shift` [key heads, rows, 1] where there is one; −∞ for a key that a
    /// query does not see.
    [[nodiscard]] Var scores(Var shift = {}) const {
        Var scores = matmul(queries, keys, false, true) * attention_.scale;
        if (shift.graph != nullptr) scores = scores - shift;
        if (!attention_.causal && !attention_.valid) return scores;
        const Var by_head = reshape(
            scores, {sizes_.key_heads, sizes_.rows / sizes_.queries, sizes_.queries, sizes_.keys});
        return reshape(select(seen(), by_head, constant(graph_, -infinity)), scores.shape());
    }

    Var queries;
    Var keys;
    Var values;

  private:
    [[nodiscard]] Var position(std::int64_t length) const { return iota(graph_, length); }

    /// Rows of keys or values, zeros for those that do not count: whatever a cache holds after
    /// its valid keys, 0 × NaN must not reach a result.
    [[nodiscard]] Var counted(Var x) const {
        const Var all = reshape(x, {sizes_.key_heads, sizes_.keys, x.shape()[-1]});
        if (!attention_.valid) return all;
        const Var counts = reshape(less(position(sizes_.keys), valid_), {sizes_.keys, 1});
        return select(counts, all, constant(graph_, 0.0));
    }

    /// [queries, keys], or [keys] where every query sees the same.
    [[nodiscard]] Var seen() const {
        const Var keys_at = position(sizes_.keys);
        if (!attention_.causal) return less(keys_at, valid_);
        const Var first = position(sizes_.queries) + static_cast<double>(1 - sizes_.queries);
        const Var end =
            attention_.valid ? first + valid_ : first + static_cast<double>(sizes_.keys);
        return less(keys_at, reshape(end, {sizes_.queries, 1}));
    }

    Graph& graph_;
    AttentionAttribute attention_;
    AttentionSizes sizes_;
    Var valid_;
};

}  // namespace

Shape shape_rule::attention(const OperandInfos& operands, const Attributes& attributes,
                            std::size_t result) {
    check_attention(operands, attributes);
    const Shape& q = operands[query].shape;
    return result == 0 ? with_last(q, operands[value].shape[-1]) : without_last(q);
}

Shape shape_rule::attention_gradient(const OperandInfos& operands, const Attributes& attributes,
                                     std::size_t result) {
    check_gradient(operands, attributes);
    return operands[result].shape;
}

ValueType type_rule::attention(const OperandInfos& operands, const Attributes&, std::size_t) {
    check_types(operands, attention_operands);
    return ValueType::real;
}

ValueType type_rule::attention_gradient(const OperandInfos& operands, const Attributes&,
                                        std::size_t) {
    check_types(operands, gradient_operands);
    return ValueType::real;
}

std::vector<Var> lower_attention(Graph& graph, std::span<const Var> operands,
                                 const Attributes& attributes) {
    const Scores s(graph, operands, attribute<AttentionAttribute>(attributes), attention_operands);
    const Shape& q = operands[query].shape();
    const Exponentials weights = exponentials(s.scores(), -1, Where::current());
    const Var sum = matmul(weights.values, s.values);
    const Var output = sum * reciprocal_of_sum(weights, Where::current());
    return {reshape(output, with_last(q, s.sizes().value_width)),
            reshape(weights.shift + log(weights.sum), without_last(q))};
}

std::vector<Var> lower_attention_gradient(Graph& graph, std::span<const Var> operands,
                                          const Attributes& attributes) {
    const auto& attention = attribute<AttentionAttribute>(attributes);
    const Scores s(graph, operands, attention, gradient_operands);
    const Var arriving = s.rows(operands[upstream]);
    const Var weights = exp(s.scores(s.column(operands[log_of_sum])));
    const Var by_weight = matmul(arriving, s.values, false, true);
    const Var by_score = weights * (by_weight - s.column(operands[offset])) * attention.scale;
    return {reshape(matmul(by_score, s.keys), operands[query].shape()),
            reshape(matmul(by_score, s.queries, true), operands[key].shape()),
            reshape(matmul(weights, arriving, true), operands[value].shape())};
}

void gradient_rule::attention(GradientContext& c) {
    const auto& attention = attribute<AttentionAttribute>(c.attributes());
    const Var arriving = c.upstream(0);
    Var shift = cambrian::reduce_sum(arriving * c.result(0), -1);
    if (c.arrived(1)) shift = shift - c.upstream(1);
    std::vector<Var> operands{c.operand(query), c.operand(key), c.operand(value),
                              c.result(1),      arriving,       shift};
    if (attention.valid) operands.push_back(c.operand(attention_operands));
    const Var first = c.graph().add(Op::attention_gradient, operands, attention);
    for (std::uint32_t i = 0; i < attention_operands; ++i)
        c.accumulate(i, {&c.graph(), ValueId{static_cast<std::uint32_t>(first.id) + i}});
}

}  // namespace cambrian
