#include "cambrian/evolve/genome/alignment.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cambrian/evolve/genome/assignment.hpp"
#include "cambrian/evolve/genome/tensor_axes.hpp"
#include "cambrian/evolve/genome/unit_groups.hpp"
#include "cambrian/evolve/genome/weight_math.hpp"

namespace cambrian::evolve {

namespace {

/// Groups take turns at most so often.
constexpr int max_turns = 8;

/// An axis that both networks have: the same tensor with the same extents.
struct CommonAxis {
    TensorAxis a;
    TensorAxis b;
    double scale = 0.0;  ///< What makes products of the tensors parts of their genes' cosine.
};
struct CommonGroup {
    std::size_t units = 0;
    std::vector<TensorAxis> all;       ///< Of b: what a new order moves.
    std::vector<CommonAxis> compared;  ///< What it is chosen by.
};

/// The slot of `a` that has the gene of a slot of `b`, else what lies at its place.
std::optional<int> partner(const Genome& a, const Genome& b, int slot) {
    const int head = b.blueprint.grid.slots();
    if (slot == head) {
        return a.blueprint.grid.slots();
    }
    const Hash128 id = b.slot_genes[static_cast<std::size_t>(slot)].id;
    const auto same = std::ranges::find(a.slot_genes, id, [](const Gene& gene) { return gene.id; });
    if (same != a.slot_genes.end()) {
        return static_cast<int>(same - a.slot_genes.begin());
    }
    const bool there = a.blueprint.grid == b.blueprint.grid &&
                       a.blueprint.slots[static_cast<std::size_t>(slot)].has_value();
    return there ? std::optional(slot) : std::nullopt;
}

bool are_partners(const Genome& a, const TensorAxis& in_a, const Genome& b,
                  const TensorAxis& in_b) {
    if (in_a.parameter != in_b.parameter || in_a.axis != in_b.axis ||
        in_a.extents != in_b.extents || (in_a.gene.link < 0) != (in_b.gene.link < 0)) {
        return false;
    }
    if (in_b.gene.link >= 0) {
        return gene_at(a, in_a.gene).id == gene_at(b, in_b.gene).id;
    }
    return partner(a, b, in_b.gene.slot) == in_a.gene.slot;
}

/// Whether a tensor has two axes in a group: a state that its own units read.
bool is_paired(const UnitGroup& group, const TensorAxis& axis) {
    return std::ranges::count(group.axes, axis.offset, &TensorAxis::offset) > 1;
}

double norm(std::span<const float> weights, const GeneWeights& gene) {
    const auto own = weights.subspan(static_cast<std::size_t>(gene.offset),
                                     static_cast<std::size_t>(gene.count));
    return std::sqrt(dot(own, own));
}

/// 1 / (|a| · |b|): no gene has more say for being larger.
double scale_of(const WeightedGenes& a, const GeneWeights& gene_a, const WeightedGenes& b,
                const GeneWeights& gene_b) {
    const double norms = norm(a.weights, gene_a) * norm(b.weights, gene_b);
    return norms > 0.0 ? 1.0 / norms : 0.0;
}

std::vector<CommonGroup> common_groups(const WeightedGenes& a, const WeightedGenes& b) {
    const std::vector<UnitGroup> of_a = unit_groups(a.genes.blueprint);
    std::vector<CommonGroup> common;
    for (UnitGroup& group : unit_groups(b.genes.blueprint)) {
        const auto slot = partner(a.genes, b.genes, group.slot);
        const auto found = slot ? std::ranges::find(of_a, *slot, &UnitGroup::slot) : of_a.end();
        if (found == of_a.end() || found->units != group.units) {
            continue;
        }
        CommonGroup& pair = common.emplace_back();
        pair.units = static_cast<std::size_t>(group.units);
        for (const TensorAxis& in_b : group.axes) {
            for (const TensorAxis& in_a : found->axes) {
                if (are_partners(a.genes, in_a, b.genes, in_b) && !is_paired(group, in_b)) {
                    pair.compared.push_back({in_a, in_b, scale_of(a, in_a.gene, b, in_b.gene)});
                }
            }
        }
        pair.all = std::move(group.axes);
    }
    return common;
}

/// A tensor as blocks [outer, units, inner].
struct Blocks {
    explicit Blocks(const TensorAxis& axis)
        : inner(static_cast<std::size_t>(elements_from(axis.extents, axis.axis + 1))),
          units(static_cast<std::size_t>(axis.extents[axis.axis])),
          outer(static_cast<std::size_t>(elements_from(axis.extents, 0)) / (inner * units)) {}

    std::size_t inner;
    std::size_t units;
    std::size_t outer;
};

/// Adds the products of all units of a with all of b, times a scale.
void add_gains(std::span<const float> a, std::span<const float> b, const Blocks& blocks,
               double scale, std::vector<double>& gains) {
    for (std::size_t block = 0; block < blocks.outer; ++block) {
        for (std::size_t i = 0; i < blocks.units; ++i) {
            const auto left = a.subspan((block * blocks.units + i) * blocks.inner, blocks.inner);
            for (std::size_t j = 0; j < blocks.units; ++j) {
                const auto right =
                    b.subspan((block * blocks.units + j) * blocks.inner, blocks.inner);
                double sum = 0.0;
                for (std::size_t k = 0; k < blocks.inner; ++k) {
                    sum += static_cast<double>(left[k]) * static_cast<double>(right[k]);
                }
                gains[i * blocks.units + j] += sum * scale;
            }
        }
    }
}

void reorder(std::span<float> tensor, const Blocks& blocks, std::span<const std::int32_t> order) {
    std::vector<float> before(blocks.units * blocks.inner);
    for (std::size_t block = 0; block < blocks.outer; ++block) {
        const auto part = tensor.subspan(block * before.size(), before.size());
        std::ranges::copy(part, before.begin());
        for (std::size_t unit = 0; unit < blocks.units; ++unit) {
            const auto from =
                before.begin() +
                static_cast<std::ptrdiff_t>(static_cast<std::size_t>(order[unit]) * blocks.inner);
            std::copy_n(from, blocks.inner,
                        part.begin() + static_cast<std::ptrdiff_t>(unit * blocks.inner));
        }
    }
}

template <class Weights>
auto tensor_of(Weights weights, const TensorAxis& axis) {
    return weights.subspan(static_cast<std::size_t>(axis.offset),
                           static_cast<std::size_t>(elements_from(axis.extents, 0)));
}

/// Gives a group its best order; false where it has it already.
bool improve(const CommonGroup& group, std::span<const float> a, std::span<float> b) {
    std::vector<double> gains(group.units * group.units, 0.0);
    for (const CommonAxis& axis : group.compared) {
        add_gains(tensor_of(a, axis.a), tensor_of(std::span<const float>(b), axis.b),
                  Blocks(axis.b), axis.scale, gains);
    }
    if (!std::ranges::all_of(gains, [](double gain) { return gain - gain == 0.0; })) {
        return false;  // products beyond the numbers there are
    }
    const std::vector<std::int32_t> order = best_assignment(gains, group.units);
    double better = 0.0;
    double now = 0.0;
    for (std::size_t unit = 0; unit < group.units; ++unit) {
        better += gains[unit * group.units + static_cast<std::size_t>(order[unit])];
        now += gains[unit * group.units + unit];
    }
    if (!(better > now)) {
        return false;
    }
    for (const TensorAxis& axis : group.all) {
        reorder(tensor_of(b, axis), Blocks(axis), order);
    }
    return true;
}

}  // namespace

std::vector<float> aligned_weights(const WeightedGenes& a, const WeightedGenes& b) {
    std::vector<float> weights(b.weights.begin(), b.weights.end());
    const std::vector<CommonGroup> groups = common_groups(a, b);
    bool changed = true;
    for (int turn = 0; changed && turn < max_turns; ++turn) {
        changed = false;
        for (const CommonGroup& group : groups) {
            changed = improve(group, a.weights, weights) || changed;
        }
    }
    return weights;
}

Genome aligned(const Genome& a, const Genome& b) {
    Genome result = b;
    result.weights = aligned_weights({a, a.weights}, {b, b.weights});
    return result;
}

}  // namespace cambrian::evolve
