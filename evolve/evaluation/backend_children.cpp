#include "cambrian/evolve/evaluation/backend_children.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/evaluation/bytecode_batch.hpp"

namespace cambrian::evolve {
namespace {

/// Smaller networks are made on the host in the time that a dispatch takes.
constexpr std::int64_t min_weights = 2048;
constexpr std::size_t births_at_once = 8;

}  // namespace

BackendChildren::BackendChildren(Backend& backend, const Variation& variation, Family family)
    : backend_(backend), variation_(variation), family_(family), rows_(backend) {
    CAMBRIAN_EXPECT(backend.inherits());
    founders_lie_here_ = lies_here(*variation.founder_structure(0));
    for (std::uint32_t island = 1; island < variation.settings().islands.size(); ++island)
        founders_lie_here_ =
            founders_lie_here_ && lies_here(*variation.founder_structure(0, island));
    const auto& initial = variation.settings().initial;
    for (std::size_t i = 0; initial && i < initial->genomes.size(); ++i) {
        initial_.push_back(std::make_unique<Individual>(Genome(initial->genomes[i])));
        founders_lie_here_ = founders_lie_here_ && lies_here(*variation.founder_structure(i));
    }
}

const Individual* BackendChildren::first_parent(const ResolvedBirth& birth) const {
    if (!birth.birth.parents.empty()) return birth.parents[0];
    return initial_.empty() ? nullptr : initial_[birth.birth.id % initial_.size()].get();
}

bool BackendChildren::lies_here(const Structure& structure) const {
    // Formats are those of the host: weights come from there at each evaluation.
    return structure.weight_count() >= min_weights && structure.formats() == nullptr &&
           (family_ == Family::graph || !BytecodeBatch::takes(structure));
}

BackendChildren::Made BackendChildren::make(std::span<const ResolvedBirth> births,
                                            std::span<Individual* const> children,
                                            std::span<std::uint32_t> retries) {
    CAMBRIAN_EXPECT(births.size() == children.size() && retries.size() == children.size());
    Made made{.births = plan(births), .short_of_memory = false};
    if (made.births.empty()) return made;
    std::vector<ResolvedBirth> own_births;
    std::vector<Individual*> own;
    for (const std::size_t i : made.births) {
        std::swap(plans_[own.size()], plans_[i]);
        own_births.push_back(births[i]);
        own.push_back(children[i]);
    }
    try {
        made.short_of_memory = !write(own_births, own);
    } catch (const OutOfMemoryError&) {
        made.short_of_memory = true;  // As where there are no rows.
    }
    if (made.short_of_memory) made.births.clear();
    for (std::size_t i = 0; i < made.births.size(); ++i) {
        own[i]->structure = std::move(plans_[i].structure);
        own[i]->weights.clear();
        own[i]->row = std::move(taken_[i]);
        retries[made.births[i]] = plans_[i].retries;
    }
    taken_.clear();
    uploaded_.clear();
    return made;
}

bool BackendChildren::write(std::span<const ResolvedBirth> births,
                            std::span<Individual* const> children) {
    if (!take_rows(births, children)) return false;
    upload_literals(children.size());
    tasks_.clear();
    draws_.clear();
    for (std::size_t i = 0; i < births.size(); ++i) {
        draws_.push_back(plans_[i].draws);
        add_tasks(births[i], i, taken_[i]->place());
    }
    backend_.inherit(draws_, tasks_);
    return true;
}

bool BackendChildren::plan(const ResolvedBirth& birth, ChildPlan& plan) const {
    const std::size_t count = birth.birth.parents.size();
    if (count == 0 ? !founders_lie_here_ : !lies_here(*birth.parents[0]->structure)) return false;
    std::array<const SharedStructure*, Parents::max_count> structures{};
    for (std::size_t p = 0; p < count; ++p) structures.at(p) = &birth.parents.at(p)->structure;
    variation_.plan(birth.birth, std::span(structures).first(count), plan);
    return lies_here(*plan.structure) && !plan.needs_host();
}

std::vector<std::size_t> BackendChildren::plan(std::span<const ResolvedBirth> births) {
    if (plans_.size() < births.size()) plans_.resize(births.size());
    std::vector<char> here(births.size());
    const auto plan_block = [&](std::size_t block) {
        const std::size_t first = block * births_at_once;
        const std::size_t end = std::min(first + births_at_once, births.size());
        for (std::size_t i = first; i < end; ++i) here[i] = plan(births[i], plans_[i]) ? 1 : 0;
    };
    // Births of one population are much alike: where none of some is made here, the others would be
    // planned twice.
    if (!births.empty()) plan_block(0);
    if (std::ranges::find(here, 1) == here.end()) return {};
    const std::size_t blocks = (births.size() + births_at_once - 1) / births_at_once;
    backend_.threads().for_each(
        static_cast<std::int64_t>(blocks - 1),
        [&](std::int64_t block, int) { plan_block(static_cast<std::size_t>(block) + 1); });
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < here.size(); ++i)
        if (here[i] != 0) result.push_back(i);
    return result;
}

bool BackendChildren::take_rows(std::span<const ResolvedBirth> births,
                                std::span<Individual* const> children) {
    std::vector<std::int64_t> elements;
    for (std::size_t i = 0; i < children.size(); ++i)
        elements.push_back(plans_[i].structure->weight_count());
    std::vector<const Individual*> without_row;
    for (const ResolvedBirth& birth : births) {
        const std::size_t count = birth.birth.parents.size();
        for (std::size_t p = 0; p < count; ++p)
            if (!birth.parents.at(p)->row) without_row.push_back(birth.parents.at(p));
        if (const Individual* first = first_parent(birth); count == 0 && first && !first->row)
            without_row.push_back(first);
    }
    std::ranges::sort(without_row);
    without_row.erase(std::ranges::unique(without_row).begin(), without_row.end());
    for (const Individual* parent : without_row)
        elements.push_back(parent->structure->weight_count());
    taken_ = rows_.take(elements);
    if (taken_.empty()) return false;
    upload_parents(without_row, children.size());
    return true;
}

void BackendChildren::upload_parents(std::span<const Individual* const> parents,
                                     std::size_t first_row) {
    uploaded_.clear();
    for (std::size_t i = 0; i < parents.size(); ++i) {
        const SharedRow& row = taken_[first_row + i];
        backend_.upload(*row->place().buffer, row->place().first,
                        std::span<const float>(parents[i]->weights));
        uploaded_.emplace_back(parents[i], row);
        for (const auto& initial : initial_)
            if (parents[i] == initial.get()) initial->row = row;
    }
}

void BackendChildren::upload_literals(std::size_t children) {
    literals_.clear();
    first_literals_.clear();
    for (std::size_t i = 0; i < children; ++i) {
        first_literals_.push_back(static_cast<std::int64_t>(literals_.size()));
        literals_.insert(literals_.end(), plans_[i].literals.begin(), plans_[i].literals.end());
    }
    if (literals_.empty()) return;
    Buffer& buffer = literal_buffer_.hold(backend_, static_cast<std::int64_t>(literals_.size()));
    backend_.upload(buffer, 0, std::span<const float>(literals_));
}

Binding BackendChildren::row_of(const Individual* parent) const {
    if (parent == nullptr) return {};
    if (parent->row) return parent->row->place();
    const auto at = std::ranges::lower_bound(uploaded_, parent, {},
                                             &std::pair<const Individual*, SharedRow>::first);
    CAMBRIAN_EXPECT(at != uploaded_.end() && at->first == parent);
    return at->second->place();
}

void BackendChildren::add_tasks(const ResolvedBirth& birth, std::size_t index, Binding to) {
    const std::size_t count = birth.birth.parents.size();
    const Binding first = row_of(first_parent(birth));
    const Binding second = row_of(count > 1 ? birth.parents[1] : nullptr);
    const auto moved = [](Binding binding, std::int64_t elements) {
        binding.first += elements;
        return binding;
    };
    for (const WeightPiece& piece : plans_[index].pieces) {
        WeightTask& task = tasks_.emplace_back();
        task.piece = piece;
        task.child = static_cast<std::uint32_t>(index);
        task.to = moved(to, piece.to);
        if (piece.source == WeightSource::literal)
            task.first = {literal_buffer_.get(), first_literals_[index] + piece.from};
        else if (piece.source != WeightSource::initial)
            task.first = moved(first, piece.from);
        if (piece.source == WeightSource::second || piece.source == WeightSource::blend ||
            piece.source == WeightSource::choose)
            task.second = moved(second, piece.other);
    }
}

}  // namespace cambrian::evolve
