#include "cambrian/evolve/variation/variation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/network.hpp"

namespace cambrian::evolve {

namespace {

std::shared_ptr<const GenomeKind> kind_or_volumetric(const std::shared_ptr<const GenomeKind>& kind,
                                                     const MutationSettings& mutation,
                                                     const SpliceSettings& splice,
                                                     const VariationSettings& settings) {
    return kind ? kind : make_volumetric({mutation, splice, settings.limits, settings.complexity});
}

std::vector<std::shared_ptr<const GenomeKind>> island_kinds(const VariationSettings& settings) {
    std::vector<std::shared_ptr<const GenomeKind>> kinds;
    for (const IslandVariation& island : settings.islands) {
        kinds.push_back(kind_or_volumetric(island.kind, island.mutation, island.splice, settings));
    }
    return kinds;
}

/// What founders begin with, as genomes of the kind.
std::vector<SharedStructure> whole_founders(const VariationSettings& settings,
                                            const GenomeKind& kind) {
    std::vector<SharedStructure> founders;
    if (!settings.initial) {
        founders.push_back(std::make_shared<const Structure>(kind.begin(settings.founder)));
        return founders;
    }
    for (const Genome& genome : settings.initial->genomes) {
        founders.push_back(std::make_shared<const Structure>(kind.adopt(genome)));
    }
    return founders;
}

std::vector<std::vector<SharedStructure>> founders_of(
    const VariationSettings& settings, const std::shared_ptr<const GenomeKind>& kind,
    const std::vector<std::shared_ptr<const GenomeKind>>& of_islands) {
    std::vector<std::vector<SharedStructure>> founders;
    for (const auto& own : of_islands) {
        founders.push_back(whole_founders(settings, *own));
    }
    if (founders.empty()) {
        founders.push_back(whole_founders(settings, *kind));
    }
    return founders;
}

}  // namespace

std::vector<const Blueprint*> founder_networks(const VariationSettings& settings) {
    if (!settings.initial) {
        return {&settings.founder};
    }
    std::vector<const Blueprint*> networks;
    for (const Genome& genome : settings.initial->genomes) {
        networks.push_back(&genome.blueprint);
    }
    return networks;
}

bool develops(const VariationSettings& settings) {
    return settings.kind && settings.kind->develops();
}

bool makes_structures(const VariationSettings& settings) {
    const auto makes = [](const GenomeKind* kind, const MutationSettings& mutation) {
        return kind != nullptr ? kind->makes_structures() : makes_structures(mutation);
    };
    return settings.complexity.on() || makes(settings.kind.get(), settings.mutation) ||
           std::ranges::any_of(settings.islands, [&](const IslandVariation& island) {
               return makes(island.kind.get(), island.mutation);
           });
}

void check_complexity(const VariationSettings& settings) {
    const auto check = [&](const GenomeKind* kind) {
        if (settings.complexity.on() && kind != nullptr && !kind->simplifies()) {
            throw ConfigError(fmt::format(
                "complexity.ceiling is {} (genome.type \"{}\" knows no way to lose genes) leave "
                "out the section complexity, or choose another type",
                settings.complexity.ceiling, kind->type()));
        }
    };
    check(settings.kind.get());
    for (const IslandVariation& island : settings.islands) {
        check(island.kind.get());
    }
}

InitialNetworks::InitialNetworks(std::vector<Genome> networks, bool keeps)
    : genomes(std::move(networks)), keeps_weights(keeps) {
    CAMBRIAN_EXPECT(!genomes.empty());
    for (Genome& genome : genomes) {
        for_each_gene(genome, [](Gene& gene) { gene.born = 0; });
    }
}

Hash128 content_hash(const InitialNetworks& initial) {
    std::vector<Hash128> hashes;
    for (Genome founder : initial.genomes) {
        if (!initial.keeps_weights) {
            founder.weights.clear();
        }
        hashes.push_back(content_hash(founder));
    }
    if (hashes.size() == 1) {
        return hashes.front();
    }
    Hasher hasher;
    for (const Hash128& hash : hashes) {
        hasher.add(hash.hex());
    }
    return hasher.hash128();
}

Variation::Variation(std::uint64_t seed, VariationSettings settings)
    : settings_(std::move(settings)),
      kind_(kind_or_volumetric(settings_.kind, settings_.mutation, settings_.splice, settings_)),
      kinds_(island_kinds(settings_)),
      founders_(founders_of(settings_, kind_, kinds_)),
      sample_key_(random_key(seed, "sample")),
      splice_key_(random_key(seed, "splice")),
      mutate_key_(random_key(seed, "mutate")) {
    CAMBRIAN_EXPECT(!settings_.initial ||
                    settings_.initial->genomes.front().blueprint == settings_.founder);
}

Offspring Variation::materialise(const Birth& birth, std::span<const Genome* const> parents) const {
    ChildPlan plan;
    Individual child;
    materialise(birth, Individuals(parents).pointers, plan, child);
    return {genome_of(child), plan.retries};
}

void Variation::materialise(const Birth& birth, std::span<const Individual* const> parents,
                            ChildPlan& plan, Individual& child) const {
    std::array<const SharedStructure*, Parents::max_count> structures{};
    std::ranges::transform(parents, structures.begin(),
                           [](const Individual* parent) { return &parent->structure; });
    CAMBRIAN_EXPECT(
        std::ranges::all_of(parents, [](const Individual* parent) { return parent->on_host(); }));
    this->plan(birth, std::span(structures).first(parents.size()), plan);
    const auto weights = [&](std::size_t parent) {
        return parent < parents.size() ? std::span<const float>(parents[parent]->weights)
                                       : std::span<const float>();
    };
    std::vector<float> ordered;
    std::span<const float> second = weights(1);
    if (parents.size() == 2 && kind_of(birth).reads_weights()) {
        ordered = kind_of(birth).aligned(*parents[0], *parents[1]);
        second = ordered;
    }
    write_weights(plan, parents.empty() ? initial_weights(birth.id) : weights(0), second,
                  child.weights);
    child.structure = std::move(plan.structure);
    child.row.reset();
}

void Variation::plan(const Birth& birth, std::span<const SharedStructure* const> parents,
                     ChildPlan& child) const {
    CAMBRIAN_ASSERT(parents.size() == birth.parents.size());
    if (birth.recipe == Recipe::sample) {
        CAMBRIAN_ASSERT(parents.empty());
        found(birth, child);
        return;
    }
    CAMBRIAN_ASSERT(!parents.empty() && parents.size() <= 2);
    child.begin(*parents[0]);
    if (birth.recipe == Recipe::carry) {
        return;
    }
    const GenomeKind& kind = kind_of(birth);
    if (parents.size() == 2) {
        RandomStream rng(splice_key_, birth.id);
        kind.cross(rng, child, birth.parents[0].fitness, *parents[1], birth.parents[1].fitness);
    }
    RandomStream rng(mutate_key_, birth.id);
    if (birth.simplifies) {
        kind.simplify(rng, child, birth.id);
    } else {
        kind.mutate_structure(rng, child, birth.id);
    }
    kind.mutate_weights(rng, child, birth.id);
}

bool Variation::reads_weights() const {
    return kind_->reads_weights() ||
           std::ranges::any_of(kinds_, [](const auto& kind) { return kind->reads_weights(); });
}

std::span<const float> Variation::initial_weights(BirthId birth) const {
    const auto& initial = settings_.initial;
    return initial ? std::span<const float>(initial->genomes[initial->index_of(birth)].weights)
                   : std::span<const float>();
}

const GenomeKind& Variation::kind_of(std::uint32_t island) const {
    return *(kinds_.empty() ? kind_ : kinds_.at(island));
}

SharedStructure Variation::founder_structure(BirthId birth, std::uint32_t island) const {
    RandomStream rng(sample_key_, birth);
    return founder_structure(rng, birth, island);
}

SharedStructure Variation::founder_structure(RandomStream& rng, BirthId birth,
                                             std::uint32_t island) const {
    const std::vector<SharedStructure>& own = founders_.at(kinds_.empty() ? 0 : island);
    return settings_.initial ? own[settings_.initial->index_of(birth)]
                             : kind_of(island).found(rng, own.front(), birth);
}

void Variation::found(const Birth& birth, ChildPlan& child) const {
    RandomStream rng(sample_key_, birth.id);
    SharedStructure structure = founder_structure(rng, birth.id, birth.island);
    const GenomeKind& kind = kind_of(birth);
    if (!settings_.initial || !settings_.initial->keeps_weights) {
        kind.draw_weights(rng, std::move(structure), child);
        return;
    }
    child.begin(std::move(structure));
    if (!settings_.initial->is_founder_itself(birth.id)) {
        kind.disturb(rng, child);
    }
}

}  // namespace cambrian::evolve
