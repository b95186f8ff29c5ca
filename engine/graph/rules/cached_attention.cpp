#include <cstdint>
#include <limits>

#include "cambrian/engine/graph/attention_sizes.hpp"
#include "cambrian/engine/graph/builders/activation.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/contraction.hpp"
#include "cambrian/engine/graph/builders/index.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Rules and lowering of cached_attention.
namespace cambrian {
namespace {

/// The extents with others for the last three axes.
Shape with_heads(const Shape& shape, std::int64_t heads, std::int64_t rows, std::int64_t width) {
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    const std::size_t rank = extents.size();
    extents[rank - 3] = heads;
    extents[rank - 2] = rows;
    extents[rank - 1] = width;
    return Shape(std::span<const std::int64_t>(extents));
}

void check_shapes(const OperandInfos& operands) {
    const Shape& q = operands[CachedAttentionOperand::query].shape;
    const Shape& k = operands[CachedAttentionOperand::keys].shape;
    const Shape& v = operands[CachedAttentionOperand::values].shape;
    if (q.rank() < 3 || k.rank() != q.rank() || v.rank() != q.rank())
        reject("q, keys and values have " + std::to_string(q.rank()) + ", " +
                   std::to_string(k.rank()) + " and " + std::to_string(v.rank()) + " axes",
               "pass q [.., heads, 1, width], keys and values [.., key heads, positions, width]");
    if (q[-2] != 1) reject(std::to_string(q[-2]) + " queries a head", "pass one");
    if (k[-3] < 1 || q[-3] % k[-3] != 0)
        reject(std::to_string(q[-3]) + " query heads are no multiple of " + std::to_string(k[-3]) +
                   " key heads",
               "let every key head serve as many query heads");
    if (k[-2] < 1 || q[-1] < 1 || v[-1] < 1)
        reject("the cache has no positions, or its rows no width", "pass at least one");
    if (k != with_heads(q, k[-3], k[-2], q[-1]) || v != with_heads(q, k[-3], k[-2], v[-1]))
        reject("keys " + k.text() + " or values " + v.text() + " do not go with q " + q.text(),
               "make widths, positions and the axes before the heads equal");
    if (operands[CachedAttentionOperand::own_key].shape != with_heads(k, k[-3], 1, k[-1]) ||
        operands[CachedAttentionOperand::own_value].shape != with_heads(v, v[-3], 1, v[-1]))
        reject("the row of its own is not one row of the cache",
               "pass k and v like the cache, with one position");
    const Shape leading(q.extents().first(q.extents().size() - 3));
    if (operands[CachedAttentionOperand::position].shape != leading)
        reject("the position is " + operands[CachedAttentionOperand::position].shape.text(),
               "pass one for each of the axes before the heads " + leading.text());
}

}  // namespace

Shape shape_rule::cached_attention(const OperandInfos& operands, const Attributes& attributes,
                                   std::size_t) {
    if (operands.size() != CachedAttentionOperand::count)
        reject(std::to_string(operands.size()) + " operands", "pass six");
    const std::int64_t window = attribute<CachedAttentionAttribute>(attributes).window;
    if (window < 0 || window > std::numeric_limits<std::int32_t>::max())
        reject("a window of " + std::to_string(window) + " keys is below 0 or above 2^31 - 1",
               "pass 0 for all keys");
    check_shapes(operands);
    const Shape& q = operands[CachedAttentionOperand::query].shape;
    return with_heads(q, q[-3], 1, operands[CachedAttentionOperand::values].shape[-1]);
}

ValueType type_rule::cached_attention(const OperandInfos& operands, const Attributes&,
                                      std::size_t) {
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (operands[i].type !=
            (i == CachedAttentionOperand::position ? ValueType::integer : ValueType::real))
            reject("operand " + std::to_string(i) + " is " + std::string(name(operands[i].type)),
                   "pass real tensors, and the position as an integer");
    return ValueType::real;
}

std::vector<Var> lower_cached_attention(Graph& graph, std::span<const Var> operands,
                                        const Attributes& attributes) {
    const auto& attention = attribute<CachedAttentionAttribute>(attributes);
    const Shape& q = operands[CachedAttentionOperand::query].shape();
    const AttentionSizes sizes = attention_sizes(q, operands[CachedAttentionOperand::keys].shape(),
                                                 operands[CachedAttentionOperand::values].shape());
    const std::int64_t heads = operands[CachedAttentionOperand::keys].shape()[-3];
    const std::int64_t leading = sizes.key_heads / heads;
    const auto by_head = [&](std::size_t operand, std::int64_t rows) {
        const Var x = operands[operand];
        return reshape(x, {leading, heads, rows, x.shape()[-1]});
    };
    const Var grouped = by_head(CachedAttentionOperand::query, sizes.rows);
    const auto scores_of = [&](Var keys) {
        return matmul(grouped, keys, false, true) * attention.scale;
    };

    const Var none = constant(graph, 0.0, ValueType::integer);
    const Var all = constant(graph, static_cast<double>(sizes.keys), ValueType::integer);
    const Var position = min(
        max(reshape(operands[CachedAttentionOperand::position], {leading, 1, 1, 1}), none), all);
    const Var places = iota(graph, sizes.keys);
    Var seen = less(places, position);
    if (attention.window > 0)
        seen = logical_and(seen, less(position - static_cast<double>(attention.window), places));
    // Whatever the cache holds there: 0 × NaN must not reach a result.
    const Var counts = reshape(seen, {leading, 1, sizes.keys, 1});
    const auto counted = [&](std::size_t operand) {
        return select(counts, by_head(operand, sizes.keys), constant(graph, 0.0));
    };
    const Var values = counted(CachedAttentionOperand::values);
    const Var unseen = constant(graph, -std::numeric_limits<double>::infinity());
    const Var before = select(seen, scores_of(counted(CachedAttentionOperand::keys)), unseen);
    const Var own = scores_of(by_head(CachedAttentionOperand::own_key, 1));

    const Var shift = max(reduce_max(before, -1, true), own);
    const Var weights = exp(before - shift);
    const Var own_weight = exp(own - shift);
    const Var sum = reduce_sum(weights, -1, true) + own_weight;
    const Var mixed =
        matmul(weights, values) + own_weight * by_head(CachedAttentionOperand::own_value, 1);
    return {reshape(mixed * reciprocal(sum), with_heads(q, q[-3], 1, sizes.value_width))};
}

}  // namespace cambrian
