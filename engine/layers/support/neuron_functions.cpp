#include "cambrian/engine/layers/support/neuron_functions.hpp"

#include <vector>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {
namespace {

template <class Join>
Var fold(std::span<const Var> terms, Join join) {
    Var total = terms[0];
    for (const Var term : terms.subspan(1)) total = join(total, term);
    return total;
}

Var sum(std::span<const Var> terms) {
    return fold(terms, [](Var total, Var term) { return total + term; });
}

Var median(std::span<const Var> terms) {
    const Var largest = sum(terms);  // For its shape alone.
    std::vector<Var> alike;
    for (const Var term : terms) alike.push_back(broadcast(term, largest.shape()));
    const Var sorted = sort(concat(alike, -1)).values;
    const auto count = static_cast<std::int64_t>(terms.size());
    const Var upper = slice(sorted, -1, count / 2, 1);
    if (count % 2 == 1) return upper;
    return (slice(sorted, -1, count / 2 - 1, 1) + upper) * 0.5;
}

/// In the order of the codes.
constexpr std::array<Var (*)(std::span<const Var>), neuron_aggregation_names.size()> aggregations{
    sum,
    [](std::span<const Var> terms) {
        return fold(terms, [](Var total, Var term) { return total * term; });
    },
    [](std::span<const Var> terms) {
        return fold(terms, [](Var largest, Var term) { return max(term, largest); });
    },
    [](std::span<const Var> terms) {
        return fold(terms, [](Var least, Var term) { return min(term, least); });
    },
    [](std::span<const Var> terms) { return sum(terms) / static_cast<double>(terms.size()); },
    median,
    [](std::span<const Var> terms) {
        return fold(terms, [](Var largest, Var term) {
            return select(less(abs(largest), abs(term)), term, largest);
        });
    },
};

}  // namespace

Var activate(Var x, NeuronActivation activation) {
    return activate(x, static_cast<Activation>(activation));
}

Var aggregate(std::span<const Var> terms, NeuronAggregation aggregation) {
    CAMBRIAN_ASSERT(!terms.empty());
    return aggregations[static_cast<std::size_t>(aggregation)](terms);
}

}  // namespace cambrian
