#include "cambrian/evolve/variation/child_plan.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/support/initial.hpp"

namespace cambrian::evolve {

namespace {

/// The second part of a piece that is cut `done` elements after its begin.
WeightPiece rest_of(const WeightPiece& piece, std::int64_t done) {
    WeightPiece rest = piece;
    rest.to += done;
    rest.from += done;
    rest.other += done;
    rest.count -= done;
    rest.index += done;
    rest.before += done;
    rest.whole = piece.whole > 0 ? piece.whole : piece.count;
    return rest;
}

}  // namespace

/// A device makes elements one by one, so the plan brings values of the same draws.
void ChildPlan::bring_whole(const ParameterSpec& parameter, std::span<WeightPiece> all) {
    if (all.empty()) {
        return;
    }
    std::vector<float> values(static_cast<std::size_t>(parameter.shape.elements()));
    draws.fresh.fill_uniform(static_cast<std::uint64_t>(all.front().to), values);
    initial_from_uniforms(parameter, values);
    std::int64_t from = std::ssize(literals);
    literals.insert(literals.end(), values.begin(), values.end());
    for (WeightPiece& piece : all) {
        piece.source = WeightSource::literal;
        piece.from = from;
        from += piece.count;
    }
}

void ChildPlan::begin_empty(SharedStructure whole) {
    structure = std::move(whole);
    pieces.clear();
    literals.clear();
    draws = {};
    averages.clear();
    rules.ranges.clear();
    retries = 0;
}

void ChildPlan::begin(SharedStructure first) {
    begin_empty(std::move(first));
    for (const GeneWeights& gene : structure->genes()) {
        if (gene.count > 0) {
            pieces.push_back({.to = gene.offset, .from = gene.offset, .count = gene.count});
        }
    }
}

void ChildPlan::begin_fresh(SharedStructure founder, RandomField fresh) {
    begin(std::move(founder));
    draws.fresh = fresh;
    for (const GeneWeights& gene : structure->genes()) {
        for_each_parameter(gene,
                           [this](const ParameterSpec& parameter, std::span<WeightPiece> all) {
                               if (starts_whole(parameter)) {
                                   bring_whole(parameter, all);
                                   return;
                               }
                               for (WeightPiece& piece : all) {
                                   piece.source = WeightSource::initial;
                               }
                           });
    }
}

SharedStructure ChildPlan::become(Mutant mutant) {
    for (const WeightEdit& change : mutant.edits) {
        edit(change);
    }
    return std::exchange(structure, std::make_shared<const Structure>(std::move(mutant.genome)));
}

void ChildPlan::edit(const WeightEdit& edit) {
    const bool copies = edit.copied >= 0;
    CAMBRIAN_ASSERT(!copies || edit.inserted.empty());
    const std::int64_t added = copies ? 1 : static_cast<std::int64_t>(edit.inserted.size());
    WeightPiece copy;
    if (copies) {
        copy = copy_of(edit.copied);
        copy.to = edit.at;
    }
    edit_averages(edit, added);
    const std::size_t first = cut_at(edit.at);
    const std::size_t last = cut_at(edit.at + edit.erased);
    CAMBRIAN_ASSERT(first <= last);
    const auto at = pieces.begin() + static_cast<std::ptrdiff_t>(first);
    auto next = pieces.erase(at, pieces.begin() + static_cast<std::ptrdiff_t>(last));
    for (auto piece = next; piece != pieces.end(); ++piece) {
        piece->to += added - edit.erased;
    }
    if (copies) {
        pieces.insert(next, copy);
    } else if (added > 0) {
        pieces.insert(next, {.to = edit.at,
                             .from = static_cast<std::int64_t>(literals.size()),
                             .count = added,
                             .source = WeightSource::literal});
        literals.insert(literals.end(), edit.inserted.begin(), edit.inserted.end());
    }
}

/// Few children have averages, and few of these a new structure: each element is moved by itself.
void ChildPlan::edit_averages(const WeightEdit& edit, std::int64_t added) {
    if (averages.empty()) {
        return;
    }
    std::vector<AveragedWeights> moved;
    for (const AveragedWeights& average : averages) {
        for (std::int64_t i = 0; i < average.count; ++i) {
            AveragedWeights element{average.to + i, average.other + i, 1, average.of_second};
            if (element.to == edit.copied) {
                moved.push_back({edit.at, element.other, 1, element.of_second});
            }
            if (element.to >= edit.at && element.to < edit.at + edit.erased) {
                continue;
            }
            element.to += element.to >= edit.at ? added - edit.erased : 0;
            moved.push_back(element);
        }
    }
    averages = std::move(moved);
}

WeightPiece ChildPlan::copy_of(std::int64_t element) const {
    const auto after = std::ranges::upper_bound(pieces, element, {}, &WeightPiece::to);
    CAMBRIAN_ASSERT(after != pieces.begin());
    const WeightPiece& piece = *std::prev(after);
    CAMBRIAN_ASSERT(element < piece.to + piece.count);
    WeightPiece copy = rest_of(piece, element - piece.to);
    copy.count = 1;
    return copy;
}

std::size_t ChildPlan::cut_at(std::int64_t element) {
    const auto at = std::ranges::lower_bound(pieces, element, {}, &WeightPiece::to);
    const auto index = static_cast<std::size_t>(at - pieces.begin());
    if ((at != pieces.end() && at->to == element) || index == 0) {
        return index;
    }
    WeightPiece& before = pieces[index - 1];
    const std::int64_t done = element - before.to;
    if (done >= before.count) {
        return index;
    }
    const WeightPiece rest = rest_of(before, done);
    before.whole = rest.whole;
    before.count = done;
    pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(index), rest);
    return index;
}

std::span<WeightPiece> ChildPlan::range(std::int64_t first, std::int64_t count) {
    if (count == 0) {
        return {};
    }
    const std::size_t begin = cut_at(first);
    const std::size_t end = cut_at(first + count);
    return std::span(pieces).subspan(begin, end - begin);
}

std::span<WeightPiece> ChildPlan::parameter_range(const ParameterSpec& parameter,
                                                  std::int64_t offset) {
    const std::span<WeightPiece> all = range(offset, parameter.shape.elements());
    const InitialRule rule = initial_rule(parameter);
    for (WeightPiece& piece : all) {
        piece.initial = rule;
        piece.index = piece.to - offset;
    }
    return all;
}

void write_weights(const ChildPlan& plan, std::span<const float> first,
                   std::span<const float> second, std::vector<float>& weights) {
    weights.resize(static_cast<std::size_t>(plan.structure->weight_count()));
    write_sources(plan.draws, plan.pieces, {first, second, plan.literals}, weights);
    for (const AveragedWeights& average : plan.averages) {
        const std::span<const float> other = average.of_second ? second : first;
        for (std::int64_t i = 0; i < average.count; ++i) {
            float& weight = weights[static_cast<std::size_t>(average.to + i)];
            weight = 0.5F * weight + 0.5F * other[static_cast<std::size_t>(average.other + i)];
        }
    }
    vary_weights(plan.draws, plan.pieces, weights);
    plan.rules.apply(weights);
}

}  // namespace cambrian::evolve
