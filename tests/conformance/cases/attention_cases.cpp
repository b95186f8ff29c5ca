#include <cmath>

#include "cambrian/tests/conformance/cases/op_cases.hpp"

namespace cambrian::test {
namespace {

using Cases = std::vector<OpCase>;

/// Extents of one attention.
struct Extents {
    std::int64_t query_heads;
    std::int64_t key_heads;
    std::int64_t queries;
    std::int64_t keys;
    std::int64_t width;
    std::int64_t value_width;
};

Shape with_leading(const Shape& leading, std::initializer_list<std::int64_t> extents) {
    std::vector<std::int64_t> all(leading.extents().begin(), leading.extents().end());
    all.insert(all.end(), extents.begin(), extents.end());
    return Shape(std::span<const std::int64_t>(all));
}

/// Attention and its gradient for one set of extents; `valid` below 0 means that there is none.
void add(Cases& cases, const Shape& leading, const Extents& e, bool causal, std::int64_t valid) {
    const Shape q = with_leading(leading, {e.query_heads, e.queries, e.width});
    const Shape k = with_leading(leading, {e.key_heads, e.keys, e.width});
    const Shape v = with_leading(leading, {e.key_heads, e.keys, e.value_width});
    const Shape output = with_leading(leading, {e.query_heads, e.queries, e.value_width});
    const Shape row = with_leading(leading, {e.query_heads, e.queries});
    AttentionAttribute attribute{0.4, causal, valid >= 0};
    OpCase forward{Op::attention,
                   {{Range::wide, q}, {Range::wide, k}, {Range::wide, v}},
                   attribute,
                   {{output}, {row}}};
    // A log-sum-exp of its own must not make the weights of the gradient large.
    attribute.scale = 0.25 / std::sqrt(static_cast<double>(e.width));
    OpCase backward{Op::attention_gradient,
                    {{Range::wide, q},
                     {Range::wide, k},
                     {Range::wide, v},
                     {Range::positive, row},
                     {Range::wide, output},
                     {Range::wide, row}},
                    attribute,
                    {{q}, {k}, {v}}};
    for (OpCase* made : {&forward, &backward}) {
        if (valid >= 0) made->operands.push_back({Range::fixed, {}, valid});
        cases.push_back(*made);
    }
}

/// The row at `positions`, one for each of the leading axes.
void add_cached(Cases& cases, const Shape& leading, const Extents& e,
                const std::vector<std::int32_t>& positions, std::int64_t window) {
    const auto rows = [&](std::int64_t heads, std::int64_t count, std::int64_t width) {
        return OperandCase{Range::wide, with_leading(leading, {heads, count, width})};
    };
    cases.push_back(
        {Op::cached_attention,
         {rows(e.query_heads, 1, e.width), rows(e.key_heads, e.keys, e.width),
          rows(e.key_heads, e.keys, e.value_width), rows(e.key_heads, 1, e.width),
          rows(e.key_heads, 1, e.value_width), OperandCase{Range::given, leading, 0, positions}},
         CachedAttentionAttribute{0.4, window},
         {{with_leading(leading, {e.query_heads, 1, e.value_width})}}});
}

}  // namespace

std::vector<OpCase> attention_cases() {
    Cases cases;
    for (const bool causal : {false, true}) {
        // Widths, among them a value width of its own.
        for (const std::int64_t width : {1, 3, 16})
            add(cases, {}, {2, 2, 5, 5, width, width}, causal, -1);
        add(cases, {}, {1, 1, 3, 7, 4, 9}, causal, -1);
        // Heads that share keys, and axes before them.
        add(cases, {2}, {2, 1, 4, 6, 3, 5}, causal, -1);
        add(cases, {2, 1}, {4, 1, 3, 3, 2, 2}, causal, -1);
        add(cases, {}, {4, 2, 1, 17, 8, 8}, causal, -1);
        // Some of the keys, all of them, and more than there are.
        for (const std::int64_t valid : {4, 9, 100})
            add(cases, {2}, {2, 1, 3, 9, 4, 3}, causal, valid);
    }
    // More than one tile in every direction, on every backend.
    add(cases, {}, {2, 1, 65, 70, 17, 20}, true, -1);
    add(cases, {}, {1, 1, 5, 133, 6, 20}, false, 131);
    add(cases, {}, {1, 1, 4, 6, 80, 64}, true, -1);
    // The row after those of a cache: none of them, some, all, and positions that count as such.
    add_cached(cases, {}, {1, 1, 1, 5, 4, 4}, {0}, 0);
    add_cached(cases, {4}, {4, 2, 1, 9, 8, 3}, {-1, 4, 9, 100}, 0);
    add_cached(cases, {2, 1}, {2, 2, 1, 17, 3, 8}, {17, 3}, 4);
    // More queries than a tile of a GPU has, and more than one part of the keys.
    add_cached(cases, {2}, {10, 1, 1, 70, 8, 12}, {69, 40}, 0);
    add_cached(cases, {2}, {2, 1, 1, 133, 6, 20}, {131, 2}, 50);
    // Rows that are put: first, last, none.
    for (const std::int32_t position : {0, 4, 5, -1})
        cases.push_back({Op::put_row,
                         {{Range::wide, {2, 5, 3}},
                          {Range::wide, {2, 1, 3}},
                          {Range::given, {}, 0, {position}}},
                         {},
                         {{{2, 5, 3}}}});
    cases.push_back({Op::put_row,
                     {{Range::wide, {3, 2, 9, 4}},
                      {Range::wide, {3, 2, 1, 4}},
                      {Range::given, {3}, 0, {8, 3, 9}}},
                     {},
                     {{{3, 2, 9, 4}}}});
    return cases;
}

}  // namespace cambrian::test
