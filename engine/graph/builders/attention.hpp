#pragma once

#include <optional>

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Attention and the rotary positions of its queries and keys.
namespace cambrian {

struct AttentionOptions {
    std::optional<double> scale{};  ///< Of the scores; 1 / sqrt(width) when it is not given.
    bool causal = false;            ///< The last query is as late as the last key that counts.
    std::optional<Var> valid{};     ///< Integer scalar: how many keys count, as of a cache.
};
struct Attention {
    Var output;       ///< [.., heads, queries, value width].
    Var log_sum_exp;  ///< Of the scaled scores, [.., heads, queries].
};
/// softmax(scale q kᵀ) v of q [.., heads, queries, width], k [.., key heads, keys, width] and v
/// [.., key heads, keys, value width]; each key head serves as many query heads in order. A query
/// that sees no key gives zeros and a log-sum-exp of −∞. See AttentionAttribute.
Attention attention(Var q, Var k, Var v, const AttentionOptions& options = {},
                    Where where = Where::current());

/// Keys [.., key heads, rows, width] and values [.., key heads, rows, value width].
struct KeysAndValues {
    Var keys;
    Var values;
};
struct CachedAttentionOptions {
    std::optional<double> scale{};  ///< Of the scores; 1 / sqrt(width) when it is not given.
    std::int64_t window = 0;        ///< The last so many keys are seen, its own among them; 0: all.
};
/// What q [.., heads, 1, width] at an integer position [..] sees in a cache, before its position,
/// and of its own row: [.., heads, 1, value width]. Terms and their order are those of attention
/// over the whole sequence (zeros for what is not seen), so that under strict math both are the
/// same bits. See CachedAttentionAttribute.
Var cached_attention(Var q, const KeysAndValues& cache, const KeysAndValues& own, Var position,
                     const CachedAttentionOptions& options = {}, Where where = Where::current());

/// Cosines and sines of rotary positions, [positions, rotary width / 2] each.
struct RotaryTables {
    Var cosine;
    Var sine;
};
/// How pairs turn more slowly where a model sees longer sequences than it was first trained on:
/// angles are divided by `factor`. With `original` 0 all of them are (Chen et al., "Extending
/// Context Window of Large Language Models via Positional Interpolation", 2023); else those of
/// waves longer than original / low positions, while waves shorter than original / high stay, and
/// between both the share of the one goes over into that of the other, linear in original / wave
/// (Llama 3.1), or with `yarn` in the number of the pair (Peng et al., "YaRN", 2023).
struct RotaryScaling {
    double factor = 1.0;
    double original = 0.0;
    double low = 1.0;
    double high = 4.0;
    bool yarn = false;
    bool truncate = true;  ///< Of yarn: what is between begins and ends at whole pairs.
    double gain = 1.0;     ///< Of cosines and sines: scores have its square.
};
/// Constants for the positions 0 to length - 1: the angle of pair i of a `rotary` wide vector is
/// position × base^(−2 i / rotary), scaled. Yarn needs an original length and a base above 1.
RotaryTables rotary_tables(Graph& graph, std::int64_t length, std::int64_t rotary,
                           double base = 10000.0, const RotaryScaling& scaling = {});
/// The rows of tables at integer positions; one outside is an InputError at run time.
RotaryTables at_positions(const RotaryTables& tables, Var positions,
                          Where where = Where::current());
/// Rotates pairs (i, i + half) of the first 2 × half elements of the last axis of x [.., positions,
/// width]: y[i] = x[i] c − x[i + half] s, y[i + half] = x[i + half] c + x[i] s. The tables
/// [positions, half] may have leading axes that broadcast; elements after the pairs are kept.
Var rope(Var x, const RotaryTables& tables, Where where = Where::current());

struct QueriesAndKeys {
    Var queries;
    Var keys;
};
/// Each head of q and k [.., positions, width] as its rms_norm with gains of their own, then rope.
QueriesAndKeys qk_norm_rope(Var q, Var k, Var q_gain, Var k_gain, const RotaryTables& tables,
                            double epsilon = 1e-6, Where where = Where::current());

}  // namespace cambrian
