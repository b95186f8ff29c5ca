#pragma once

#include "cambrian/engine/graph/builders/attention.hpp"
#include "cambrian/engine/layers/support/layer.hpp"

namespace cambrian {

/// Every position of a sequence takes a mean of values, weighted by how queries meet keys, once for
/// each head. A key head serves heads / kv_heads query heads. With a rope_base queries and keys are
/// turned by their position, with qk_norm each head of them has unit root mean square before that,
/// times gains that all heads share. Causal attention has steps in time for rows: a position sees
/// the last `window` positions, its own included, which a step remembers as its state. A window
/// longer than any sequence is none; it takes memory only where steps carry it. Without causality a
/// row is a whole sequence [time, features].
struct MultiHeadAttention {
    static constexpr std::string_view name = "multi_head_attention";
    static constexpr LayerText about{
        .summary =
            "Every position of a sequence takes a mean of values, weighted by how queries meet "
            "keys, once for each head",
        .formula =
            "head = softmax(q kᵀ / √head_dim) v\n"
            "y = concat(heads) W_oᵀ + b_o",
        .source =
            "Vaswani et al., \"Attention Is All You Need\", 2017; Ainslie et al., \"GQA\", 2023; "
            "Su et al., \"RoFormer\", 2021; Peng et al., \"YaRN\", 2023; norms of queries and "
            "keys: Henry et al., 2020"};
    static constexpr std::int64_t default_window = 128;

    std::int64_t features = 0;
    std::int64_t heads = 1;
    std::int64_t kv_heads = 0;
    std::int64_t head_dim = 0;
    bool causal = true;
    float rope_base = 0.0F;
    bool bias = true;
    std::int64_t window = 0;
    bool qk_norm = false;
    float qk_epsilon = 1e-6F;
    float rope_factor = 1.0F;
    std::int64_t rope_original = 0;
    float rope_low = 1.0F;
    float rope_high = 4.0F;
    bool rope_yarn = false;
    bool rope_truncate = true;
    float rope_gain = 1.0F;
    /// Positions that a step keeps, from the first one on, keys turned by where they stand. Of
    /// networks that generate, never of files; 0: the last `window` ones.
    std::int64_t cache = 0;

    static constexpr auto fields = FieldTable{
        Field{"features", &MultiHeadAttention::features, "0: those of the input"},
        Field{"heads", &MultiHeadAttention::heads},
        Field{"kv_heads", &MultiHeadAttention::kv_heads, "0: as many as heads"},
        Field{"head_dim", &MultiHeadAttention::head_dim, "0: features / heads"},
        Field{"causal", &MultiHeadAttention::causal},
        Field{"rope_base", &MultiHeadAttention::rope_base, "0: positions are not told"},
        Field{"bias", &MultiHeadAttention::bias},
        Field{"window", &MultiHeadAttention::window,
              "last positions that a causal one sees; longer than any sequence: all; 0: 128"},
        Field{"qk_norm", &MultiHeadAttention::qk_norm,
              "each head of queries and keys is normalised, with gains"}
            .later(),
        Field{"qk_epsilon", &MultiHeadAttention::qk_epsilon, "of qk_norm"}.later(),
        Field{"rope_factor", &MultiHeadAttention::rope_factor,
              "angles of positions are divided by it, for sequences longer than a model learned"}
            .later(2),
        Field{"rope_original", &MultiHeadAttention::rope_original,
              "positions of those sequences: waves that turn often in them keep their angles; 0: "
              "none does"}
            .later(2),
        Field{"rope_low", &MultiHeadAttention::rope_low,
              "turns in rope_original below which an angle is divided"}
            .later(2),
        Field{"rope_high", &MultiHeadAttention::rope_high, "turns above which it is kept"}.later(2),
        Field{"rope_yarn", &MultiHeadAttention::rope_yarn,
              "between both it goes over pair by pair (YaRN, with a rope_high of 32), not turn by "
              "turn"}
            .later(3),
        Field{"rope_truncate", &MultiHeadAttention::rope_truncate,
              "of rope_yarn: that begins and ends at whole pairs"}
            .later(3),
        Field{"rope_gain", &MultiHeadAttention::rope_gain,
              "of turned queries and keys: scores have its square"}
            .later(3),
    };

    static MultiHeadAttention example();
    static std::optional<MultiHeadAttention> fitted(const Shape& in, const Shape& out);

    /// What is wrong with the fields, or an empty text.
    [[nodiscard]] std::string_view fault() const;
    void resolve(const Shape& input);
    [[nodiscard]] Shape output_shape(const Shape& input) const { return input; }
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    /// Whether it is causal.
    [[nodiscard]] bool stateful() const { return causal; }
    /// The last keys and values, newest last, and how many there are. With a cache all of them,
    /// each at its position.
    [[nodiscard]] std::vector<StateSpec> state() const;
    /// x [.., time, features]: attention without causality.
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const;
    [[nodiscard]] Var sequence(Var x, const LayerOperands& operands) const;

    bool operator==(const MultiHeadAttention&) const = default;

  private:
    enum Projection : std::size_t { query, key, value, output };
    [[nodiscard]] Var projected(Var x, Projection which, const LayerOperands& operands) const;
    [[nodiscard]] Var split_heads(Var x, std::int64_t count) const;
    [[nodiscard]] Var normed(Var heads_of_x, Projection which, const LayerOperands& operands) const;
    [[nodiscard]] Var head_rows(Var x, Projection which, const LayerOperands& operands) const;
    [[nodiscard]] RotaryTables angles(Graph& graph, std::int64_t length) const;
    [[nodiscard]] Var turned(Var x, std::int64_t first, std::int64_t length) const;
    [[nodiscard]] Var attend(Var q, Var k, Var v) const;
    [[nodiscard]] Var attend_masked(Var q, Var k, Var v, Var mask) const;
    [[nodiscard]] Var attend_cached(Var q, std::span<const Var> state, const KeysAndValues& own,
                                    Var position) const;
    [[nodiscard]] Var turned_at(Var x, Var position) const;
    [[nodiscard]] StepResult cached_step(Var x, std::span<const Var> state,
                                         const LayerOperands& operands) const;
    [[nodiscard]] Var whole_sequence(Var x, const LayerOperands& operands) const;
};

}  // namespace cambrian
