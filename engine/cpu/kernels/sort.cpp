#include <algorithm>
#include <bit>
#include <utility>

#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/tensor/shape.hpp"

namespace cambrian::cpu {

namespace {

/// The place of an element in the order, then its index: no two are equal, so that any way to sort
/// them is stable.
using Pair = std::uint64_t;
using Pairs = std::span<Pair>;
constexpr int index_bits = 32;

/// An unsigned number of the same order: NaN above all, both zeros one number.
std::uint32_t order_of(float x) {
    if (x != x) {
        return ~0U;
    }
    constexpr std::uint32_t sign = 0x80000000U;
    const auto bits = std::bit_cast<std::uint32_t>(x == 0.0F ? 0.0F : x);
    return (bits & sign) != 0 ? ~bits : bits | sign;
}

std::uint32_t order_of(std::int32_t x) {
    return static_cast<std::uint32_t>(x) ^ 0x80000000U;
}

/// Eight bits of the order at a time, from the lowest: pairs in order of their indices stay so
/// where they are equal. Returns where they are in the end.
Pairs sort_by_digits(Pairs pairs, Pairs spare) {
    constexpr int digit_bits = 8;
    constexpr std::size_t buckets = 1 << digit_bits;
    constexpr Pair mask = buckets - 1;
    for (int shift = index_bits; shift < 2 * index_bits; shift += digit_bits) {
        std::array<std::uint32_t, buckets> next{};
        for (const Pair pair : pairs) {
            ++next[pair >> shift & mask];
        }
        if (next[pairs[0] >> shift & mask] == pairs.size()) {
            continue;
        }
        std::uint32_t start = 0;
        for (std::uint32_t& bucket : next) {
            start += std::exchange(bucket, start);
        }
        for (const Pair pair : pairs) {
            spare[next[pair >> shift & mask]++] = pair;
        }
        std::swap(pairs, spare);
    }
    return pairs;
}

Pairs sorted(Pairs pairs, Pairs spare) {
    constexpr std::size_t shortest_by_digits = 256;
    if (pairs.size() >= shortest_by_digits) {
        return sort_by_digits(pairs, spare);
    }
    std::ranges::sort(pairs);
    return pairs;
}

/// The first `count` in order, of pairs in order of their indices.
Pairs first_sorted(Pairs pairs, Pairs spare, std::size_t count) {
    constexpr std::size_t max_inserted = 32;
    if (count > max_inserted || count == pairs.size()) {
        return sorted(pairs, spare).first(count);
    }
    const auto end = pairs.begin() + static_cast<std::ptrdiff_t>(count);
    std::partial_sort(pairs.begin(), end, pairs.end());
    return pairs.first(count);
}

/// sort and topk: the first `count` elements of the order.
template <class Element>
class OrderKernel : public Kernel {
  public:
    OrderKernel(const KernelContext& context, int axis, bool descending)
        : operand_(context.operands[0]),
          values_(context.results[0]),
          indices_(context.results[1]),
          from_(context.operand(0).shape, axis),
          to_(context.result().shape, axis),
          descending_(descending) {
        pairs_ = context.owner.scratch(2 * pair_words * from_.length);
        spare_ = pairs_;
        spare_.offset += pair_words * from_.length;
    }

    void run(Frame& frame, std::int64_t count) const override {
        if (to_.elements() == 0) {
            return;
        }
        for (std::int64_t i = 0; i < count; ++i) {
            const Element* const x = frame.at<Element>(operand_) + i * operand_.stride;
            Element* const values = frame.at<Element>(values_) + i * values_.stride;
            auto* const indices = frame.at<std::int32_t>(indices_) + i * indices_.stride;
            for (std::int64_t line = 0; line < from_.outer * from_.inner; ++line) {
                const std::int64_t outer = line / from_.inner;
                const std::int64_t inner = line % from_.inner;
                const std::int64_t from = outer * from_.length * from_.inner + inner;
                const std::int64_t to = outer * to_.length * to_.inner + inner;
                order_line(frame, x + from, values + to, indices + to);
            }
        }
    }

  private:
    static constexpr std::int64_t pair_words = sizeof(Pair) / sizeof(Word);

    void order_line(Frame& frame, const Element* x, Element* values, std::int32_t* indices) const {
        const auto length = static_cast<std::size_t>(from_.length);
        const Pairs pairs(reinterpret_cast<Pair*>(frame.at<Word>(pairs_)), length);
        const Pairs spare(reinterpret_cast<Pair*>(frame.at<Word>(spare_)), length);
        const std::uint32_t flip = descending_ ? ~0U : 0U;
        for (std::int64_t k = 0; k < from_.length; ++k) {
            const Pair order = order_of(x[k * from_.inner]) ^ flip;
            pairs[static_cast<std::size_t>(k)] = order << index_bits | static_cast<Pair>(k);
        }
        const Pairs first = first_sorted(pairs, spare, static_cast<std::size_t>(to_.length));
        for (std::int64_t k = 0; k < to_.length; ++k) {
            const auto index = static_cast<std::int32_t>(first[static_cast<std::size_t>(k)]);
            values[k * to_.inner] = x[index * from_.inner];
            indices[k * to_.inner] = index;
        }
    }

    BufferView operand_, values_, indices_, pairs_, spare_;
    AxisSplit from_, to_;
    bool descending_;
};

std::unique_ptr<Kernel> make_order(const KernelContext& context, int axis, bool descending) {
    if (context.operand(0).type == ValueType::real) {
        return std::make_unique<OrderKernel<float>>(context, axis, descending);
    }
    return std::make_unique<OrderKernel<std::int32_t>>(context, axis, descending);
}

}  // namespace

std::unique_ptr<Kernel> make_sort(const KernelContext& context) {
    const auto& sort = context.attribute<SortAttribute>();
    return make_order(context, sort.axis, sort.descending);
}

std::unique_ptr<Kernel> make_topk(const KernelContext& context) {
    return make_order(context, context.attribute<TopkAttribute>().axis, true);
}

}  // namespace cambrian::cpu
