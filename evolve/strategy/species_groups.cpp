#include "cambrian/evolve/strategy/species_groups.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "cambrian/evolve/strategy/offspring.hpp"

namespace cambrian::evolve {

namespace {

bool fitter_survivor(const Survivor& a, const Survivor& b) {
    return a.fitness != b.fitness ? a.fitness > b.fitness : a.position < b.position;
}

/// The first of them by their fittest members, of equals in their order.
std::vector<SpeciesGroup*> fittest_species(std::span<SpeciesGroup* const> living,
                                           std::size_t count) {
    std::vector<SpeciesGroup*> ranked(living.begin(), living.end());
    std::ranges::stable_sort(ranked, std::ranges::greater{},
                             [](const SpeciesGroup* group) { return group->state.best; });
    ranked.resize(std::min(ranked.size(), count));
    return ranked;
}

/// How many of a species may be parents.
std::uint64_t parents_of(std::uint64_t size, double survival) {
    constexpr double slack = 1e-9;  // keeps 0.2 · 5 at 1
    const double survivors = std::ceil(survival * static_cast<double>(size) - slack);
    return static_cast<std::uint64_t>(std::max(survivors, 1.0));
}

}  // namespace

void rank_members(SpeciesGroup& group, std::uint64_t generation, bool new_task) {
    double sum = 0.0;
    for (const Survivor& member : group.members) {
        sum += member.fitness;
    }
    std::ranges::sort(group.members, fitter_survivor);
    SpeciesState& state = group.state;
    state.size = group.members.size();
    state.get_no_births();
    if (state.size == 0) {
        return;
    }
    state.best = group.members.front().fitness;
    state.mean = sum / static_cast<double>(state.size);
    if (state.best > state.record || new_task) {
        state.record = state.best;
        state.improved = generation;
    }
}

void drop_species(std::vector<SpeciesGroup*>& living, const SpeciesSettings& settings,
                  std::uint64_t births, std::uint64_t generation) {
    if (settings.stagnation > 0) {
        const auto spared = fittest_species(living, settings.protected_species);
        std::erase_if(living, [&](SpeciesGroup* group) {
            return generation - group->state.improved >= settings.stagnation &&
                   std::ranges::find(spared, group) == spared.end();
        });
    }
    const std::uint64_t most = births / std::max<std::uint64_t>(settings.min_size, 1);
    if (living.size() > most) {
        const auto fed = fittest_species(living, most);
        std::erase_if(living, [&](SpeciesGroup* group) {
            return std::ranges::find(fed, group) == fed.end();
        });
    }
}

void divide_births(std::span<SpeciesGroup* const> living, const SpeciesSettings& settings,
                   std::uint64_t births, std::uint64_t generation) {
    std::vector<SharingSpecies> sharing;
    for (const SpeciesGroup* group : living) {
        sharing.push_back({group->members, generation - group->state.born});
    }
    std::vector<std::uint64_t> counts =
        offspring_counts(shared_fitness(sharing, settings), births, settings.min_size);
    const auto best = std::ranges::max_element(
        living, {}, [](const SpeciesGroup* group) { return group->state.best; });
    // The fittest of all is carried over whatever its species comes to.
    std::uint64_t& of_best = counts[static_cast<std::size_t>(best - living.begin())];
    if (of_best == 0) {
        --*std::ranges::max_element(counts);
        ++of_best;
    }
    std::uint64_t all_carried = 0;
    for (std::size_t i = 0; i < living.size(); ++i) {
        SpeciesState& state = living[i]->state;
        state.offspring = counts[i];
        std::uint64_t carried = state.size >= settings.elitism_size ? settings.elitism : 0;
        if (living[i] == *best) {
            carried = std::max<std::uint64_t>(carried, 1);
        }
        state.carried = std::min({carried, state.size, state.offspring});
        all_carried += state.carried;
    }
    // Where everybody lived on no child would be born: one gives way, but not the fittest of all.
    if (all_carried == births && births > 1) {
        const auto others = [&](const SpeciesGroup* group) {
            return group->state.carried - (group == *best ? 1 : 0);
        };
        --(*std::ranges::max_element(living, {}, others))->state.carried;
    }
    for (SpeciesGroup* group : living) {
        SpeciesState& state = group->state;
        if (state.offspring > 0) {
            state.parents = parents_of(state.size, settings.survival);
            state.kept = std::max(state.parents, state.carried);
        }
    }
}

void choose_representatives(std::span<SpeciesGroup* const> living, Representative representative,
                            RandomStream rng) {
    if (representative == Representative::best) {
        return;
    }
    for (SpeciesGroup* group : living) {
        SpeciesState& state = group->state;
        if (state.parents > 0) {
            state.representative = rng.index(static_cast<std::uint32_t>(state.parents));
        }
    }
}

}  // namespace cambrian::evolve
