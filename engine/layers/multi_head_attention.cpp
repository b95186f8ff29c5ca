#include "cambrian/engine/layers/multi_head_attention.hpp"

#include <cmath>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

MultiHeadAttention MultiHeadAttention::example() {
    return {
        .features = 4, .heads = 4, .kv_heads = 2, .head_dim = 2, .rope_base = 10.0F, .window = 3};
}

std::optional<MultiHeadAttention> MultiHeadAttention::fitted(const Shape& in, const Shape& out) {
    if (in != out || in.rank() > 2) return std::nullopt;
    const std::int64_t features = in[-1];
    const std::int64_t heads = features % 4 == 0 ? 4 : features % 2 == 0 ? 2 : 1;
    MultiHeadAttention result{.features = features, .heads = heads, .causal = in.rank() == 1};
    result.resolve(in);
    return result;
}

std::string_view MultiHeadAttention::fault() const {
    if (heads < 1 || heads > widest_layer) return "heads is 1 or more";
    if (kv_heads < 0 || (kv_heads > 0 && heads % kv_heads != 0))
        return "heads is no multiple of kv_heads";
    if (!(std::isfinite(rope_base) && rope_base >= 0.0F)) return "rope_base is 0 or more";
    if (rope_base > 0.0F && head_dim % 2 != 0)
        return "head_dim is odd, and rope_base turns pairs of elements";
    if (!(std::isfinite(rope_factor) && rope_factor >= 1.0F)) return "rope_factor is 1 or more";
    if (rope_original < 0 || rope_original > largest_count)
        return "rope_original is 0 to 16777216 positions";
    if (!(rope_low > 0.0F && rope_low < rope_high && std::isfinite(rope_high)))
        return "rope_low is above 0 and below rope_high";
    if (rope_factor != 1.0F && rope_base == 0.0F)
        return "rope_factor divides the angles of a rope_base";
    if (rope_yarn && !(rope_original > 0 && rope_base > 1.0F))
        return "rope_yarn needs a rope_original and a rope_base above 1";
    if (!(rope_gain > 0.0F && std::isfinite(rope_gain))) return "rope_gain is above 0";
    if (rope_gain != 1.0F && rope_base == 0.0F) return "rope_gain is of what a rope_base turns";
    if (window < 0) return "window is 0 or more";
    if (window > largest_count) return "window is 16777216 positions or fewer";
    if (!causal && window > 0) return "window is of causal attention";
    if (qk_norm) return epsilon_fault(qk_epsilon);
    return {};
}

void MultiHeadAttention::resolve(const Shape& input) {
    require_no_fault(name, fault());
    if (!causal && input.rank() != 2)
        throw ShapeError(
            "multi_head_attention does not fit its input (without causality a row is "
            "a whole sequence [time, features], the input is " +
            rows_of(input) + ") make it causal or give it such rows");
    if (causal)
        resolve_whole_row(name, "features", features, input);
    else
        resolve_whole_row(name, "features", features, {input[-1]});
    if (kv_heads == 0) kv_heads = heads;
    if (head_dim == 0 && features % heads != 0)
        throw ShapeError("multi_head_attention cannot be built (" + std::to_string(features) +
                         " features do not make " + std::to_string(heads) +
                         " equal heads) set \"head_dim\"");
    if (head_dim == 0) head_dim = features / heads;
    require_range(name, "head_dim", head_dim);
    require_range(name, "heads times head_dim", heads * head_dim);
    if (causal && window == 0) window = default_window;
    require_no_fault(name, fault());
}

std::vector<ParameterSpec> MultiHeadAttention::parameters() const {
    const std::int64_t queries = heads * head_dim;
    const std::int64_t keys = kv_heads * head_dim;
    std::vector<ParameterSpec> result;
    const auto weight = [&result](std::string text, std::int64_t out, std::int64_t in) {
        result.push_back({.name = std::move(text),
                          .shape = {out, in},
                          .initial = Initial::weight,
                          .fan_in = in});
    };
    const auto zeros = [&result](std::string text, std::int64_t width) {
        result.push_back({.name = std::move(text), .shape = {width}, .initial = Initial::zeros});
    };
    weight("wq", queries, features);
    weight("wk", keys, features);
    weight("wv", keys, features);
    weight("wo", features, queries);
    if (bias) {
        zeros("bq", queries);
        zeros("bk", keys);
        zeros("bv", keys);
        zeros("bo", features);
    }
    if (!qk_norm) return result;
    for (const char* gain : {"q_gain", "k_gain"})
        result.push_back({.name = gain, .shape = {head_dim}, .initial = Initial::ones});
    return result;
}

std::vector<StateSpec> MultiHeadAttention::state() const {
    if (!causal) return {};
    if (cache > 0) {
        const Shape all{kv_heads, cache, head_dim};
        return {{.name = "keys", .shape = all, .kind = StateKind::rows},
                {.name = "values", .shape = all, .kind = StateKind::rows},
                {.name = "count", .shape = {1}, .kind = StateKind::position}};
    }
    const Shape rows{window, kv_heads * head_dim};
    return {{.name = "keys", .shape = rows},
            {.name = "values", .shape = rows},
            {.name = "count", .shape = {1}}};
}

Var MultiHeadAttention::projected(Var x, Projection which, const LayerOperands& operands) const {
    const Var y = project(x, operands.parameters[which]);
    return bias ? y + operands.parameters[4 + which] : y;
}

/// [N, positions, count · head_dim] → [N, count, positions, head_dim]
Var MultiHeadAttention::split_heads(Var x, std::int64_t count) const {
    const Shape& shape = x.shape();
    return permute(reshape(x, {shape[0], shape[1], count, head_dim}), {0, 2, 1, 3});
}

/// Queries or keys with unit root mean square, times their gains, where that is asked for.
Var MultiHeadAttention::normed(Var heads_of_x, Projection which,
                               const LayerOperands& operands) const {
    if (!qk_norm || which == value) return heads_of_x;
    const std::size_t first_gain = bias ? 8 : 4;
    return rms_norm(heads_of_x, operands.parameters[first_gain + which],
                    static_cast<double>(qk_epsilon));
}

/// x [N, positions, features] → [N, count, positions, head_dim], not yet turned.
Var MultiHeadAttention::head_rows(Var x, Projection which, const LayerOperands& operands) const {
    const Var rows = split_heads(projected(x, which, operands), which == query ? heads : kv_heads);
    return normed(rows, which, operands);
}

RotaryTables MultiHeadAttention::angles(Graph& graph, std::int64_t length) const {
    return rotary_tables(graph, length, head_dim, static_cast<double>(rope_base),
                         {.factor = static_cast<double>(rope_factor),
                          .original = static_cast<double>(rope_original),
                          .low = static_cast<double>(rope_low),
                          .high = static_cast<double>(rope_high),
                          .yarn = rope_yarn,
                          .truncate = rope_truncate,
                          .gain = static_cast<double>(rope_gain)});
}

/// Rows at `first` and after it, of positions 0 to length - 1, by their angles.
Var MultiHeadAttention::turned(Var x, std::int64_t first, std::int64_t length) const {
    if (rope_base == 0.0F) return x;
    const RotaryTables tables = angles(*x.graph, length);
    const std::int64_t rows = length - first;
    return rope(x, {slice(tables.cosine, 0, first, rows), slice(tables.sine, 0, first, rows)});
}

/// q [N, heads, T, d], k and v [N, kv_heads, T, d] → [N, T, heads · d]
Var MultiHeadAttention::attend(Var q, Var k, Var v) const {
    const std::int64_t time = q.shape()[2];
    Var mixed = q;
    if (!causal || time <= window) {
        mixed = attention(q, k, v, {.causal = causal}).output;
    } else {
        const Var positions = iota(*q.graph, time);
        const Var later = reshape(positions, {time, 1});
        const Var sees = logical_and(less(positions, later + 1.0),
                                     less(later - static_cast<double>(window), positions));
        mixed = attend_masked(q, k, v, sees);
    }
    return reshape(permute(mixed, {0, 2, 1, 3}), {q.shape()[0], time, heads * head_dim});
}

/// Each key head beside its query heads; the mask broadcasts to [N, kv_heads, group, queries,
/// keys].
Var MultiHeadAttention::attend_masked(Var q, Var k, Var v, Var mask) const {
    const std::int64_t rows = q.shape()[0];
    const std::int64_t queries = q.shape()[2];
    const std::int64_t keys = k.shape()[2];
    const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
    const Var grouped = reshape(q, {rows, kv_heads, heads / kv_heads, queries, head_dim});
    const Shape beside{rows, kv_heads, 1, keys, head_dim};
    const Var scores = matmul(grouped, reshape(k, beside), false, true) * scale;
    const Var mixed = matmul(masked_softmax(scores, mask), reshape(v, beside));
    return reshape(mixed, q.shape());
}

Var MultiHeadAttention::whole_sequence(Var x, const LayerOperands& operands) const {
    const std::int64_t time = x.shape()[-2];
    const Var rows = shaped(x, {x.shape().elements() / (time * features), time, features});
    const Var q = turned(head_rows(rows, query, operands), 0, time);
    const Var k = turned(head_rows(rows, key, operands), 0, time);
    const Var v = head_rows(rows, value, operands);
    if (causal && operands.cache_rows != nullptr)
        operands.cache_rows->insert(operands.cache_rows->end(), {k, v});
    return shaped(projected(attend(q, k, v), output, operands), x.shape());
}

Var MultiHeadAttention::build(Var x, const LayerOperands& operands) const {
    CAMBRIAN_ASSERT(!causal);
    return whole_sequence(x, operands);
}

Var MultiHeadAttention::sequence(Var x, const LayerOperands& operands) const {
    if (!causal) return build(x, operands);
    return shaped(whole_sequence(as_vectors(x, features, operands.row), operands), x.shape());
}

StepResult MultiHeadAttention::step(Var x, std::span<const Var> state,
                                    const LayerOperands& operands) const {
    if (!causal) return {.output = build(x, operands), .state = {}};
    if (cache > 0) return cached_step(x, state, operands);
    const std::int64_t rows = x.shape().elements() / features;
    const Var row = shaped(x, {rows, 1, features});
    const std::int64_t kept = kv_heads * head_dim;
    // Positions count from the oldest one that is kept: only their distances matter.
    const auto appended = [&](Var old, Projection which) {
        const Var before = slice(shaped(old, {rows, window, kept}), 1, 1, window - 1);
        const Var added = projected(row, which, operands);
        const Var by_head = shaped(added, {rows, 1, kv_heads, head_dim});
        return concat(std::array{before, shaped(normed(by_head, which, operands), added.shape())},
                      1);
    };
    const Var keys = appended(state[0], key);
    const Var values = appended(state[1], value);
    const Var count = min(state[2] + 1.0, constant(*x.graph, static_cast<double>(window)));
    const Var places = cast(iota(*x.graph, window), ValueType::real);
    const Var known = less(static_cast<double>(window - 1) - shaped(count, {rows, 1}), places);

    const Var q = turned(head_rows(row, query, operands), window - 1, window);
    const Var k = turned(split_heads(keys, kv_heads), 0, window);
    const Var mixed =
        attend_masked(q, k, split_heads(values, kv_heads), reshape(known, {rows, 1, 1, 1, window}));
    const Var y = projected(reshape(mixed, {rows, heads * head_dim}), output, operands);
    return {.output = shaped(y, x.shape()),
            .state = {shaped(keys, state[0].shape()), shaped(values, state[1].shape()), count}};
}

/// A row x [N, heads, 1, d] each at a position [N] of its own.
Var MultiHeadAttention::turned_at(Var x, Var position) const {
    if (rope_base == 0.0F) return x;
    const RotaryTables own = at_positions(angles(*x.graph, cache), position);
    const Shape beside{x.shape()[0], 1, 1, head_dim / 2};
    return rope(x, {reshape(own.cosine, beside), reshape(own.sine, beside)});
}

/// What q [N, heads, 1, d] sees in the caches of `state`, before its position [N], and of its own
/// row.
Var MultiHeadAttention::attend_cached(Var q, std::span<const Var> state, const KeysAndValues& own,
                                      Var position) const {
    const Shape all{q.shape()[0], kv_heads, cache, head_dim};
    return cached_attention(q, {shaped(state[0], all), shaped(state[1], all)}, own, position,
                            {.window = window < cache ? window : 0});
}

StepResult MultiHeadAttention::cached_step(Var x, std::span<const Var> state,
                                           const LayerOperands& operands) const {
    const std::int64_t rows = x.shape().elements() / features;
    const Var row = shaped(x, {rows, 1, features});
    const Var position = cast(reshape(state[2], {rows}), ValueType::integer);
    const Var q = turned_at(head_rows(row, query, operands), position);
    const Var k = turned_at(head_rows(row, key, operands), position);
    const Var v = head_rows(row, value, operands);
    const Var mixed = reshape(attend_cached(q, state, {k, v}, position), {rows, heads * head_dim});
    const Var y = projected(mixed, output, operands);
    return {.output = shaped(y, x.shape()), .state = {k, v, state[2] + 1.0}};
}

}  // namespace cambrian
