#include "cambrian/evolve/variation/child_plan.hpp"

#include <algorithm>
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

void ChildPlan::begin(SharedStructure first) {
    structure = std::move(first);
    pieces.clear();
    literals.clear();
    draws = {};
    retries = 0;
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
        for_each_parameter(gene, [](const ParameterSpec&, std::span<WeightPiece> all) {
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
    const auto added = static_cast<std::int64_t>(edit.inserted.size());
    const std::size_t first = cut_at(edit.at);
    const std::size_t last = cut_at(edit.at + edit.erased);
    CAMBRIAN_ASSERT(first <= last);
    const auto at = pieces.begin() + static_cast<std::ptrdiff_t>(first);
    auto next = pieces.erase(at, pieces.begin() + static_cast<std::ptrdiff_t>(last));
    for (auto piece = next; piece != pieces.end(); ++piece) {
        piece->to += added - edit.erased;
    }
    if (added > 0) {
        pieces.insert(next, {.to = edit.at,
                             .from = static_cast<std::int64_t>(literals.size()),
                             .count = added,
                             .source = WeightSource::literal});
        literals.insert(literals.end(), edit.inserted.begin(), edit.inserted.end());
    }
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
    cambrian::write_weights(plan.draws, plan.pieces, {first, second, plan.literals}, weights);
}

}  // namespace cambrian::evolve
