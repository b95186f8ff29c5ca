#pragma once

#include <cstddef>
#include <cstdint>

#include "cambrian/engine/tensor/shape.hpp"

// Internal to the engine and its backends.
namespace cambrian {

/// Attention as products of matrices, one set of three for every key head: the queries of a group
/// of heads lie one after the other, so that one matrix of `rows` queries meets one of `keys` keys,
/// and gradients of keys and values sum over the group by themselves.
struct AttentionSizes {
    std::int64_t key_heads = 0;    ///< Leading axes and heads of k and v together.
    std::int64_t rows = 0;         ///< Queries of one key head: heads of a group × queries.
    std::int64_t queries = 0;      ///< Of one query head: row r is query r % queries.
    std::int64_t keys = 0;         ///< Of one key head.
    std::int64_t width = 0;        ///< Of a query and a key.
    std::int64_t value_width = 0;  ///< Of a value and a result.
};

/// The operands of Op::cached_attention.
struct CachedAttentionOperand {
    enum : std::size_t { query, keys, values, own_key, own_value, position, count };
};

/// Of shapes that passed the rule of Op::attention.
[[nodiscard]] inline AttentionSizes attention_sizes(const Shape& q, const Shape& k,
                                                    const Shape& v) {
    AttentionSizes sizes;
    sizes.key_heads = Shape(k.extents().first(k.extents().size() - 2)).elements();
    sizes.rows = q[-3] / k[-3] * q[-2];
    sizes.queries = q[-2];
    sizes.keys = k[-2];
    sizes.width = q[-1];
    sizes.value_width = v[-1];
    return sizes;
}

}  // namespace cambrian
