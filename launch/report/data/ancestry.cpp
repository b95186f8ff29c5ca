#include "cambrian/launch/report/data/ancestry.hpp"

#include <algorithm>
#include <span>

namespace cambrian::launch {

using evolve::BirthId;

Ancestry::Ancestry(const std::filesystem::path& log) {
    distributed::IndividualReader reader(log);
    while (const auto block = reader.next())
        for (const distributed::LoggedIndividual& one : block->individuals)
            all_.push_back({one.id, one.origin, one.parents, one.fitness, one.parameters,
                            static_cast<std::uint32_t>(block->generation), one.recipe, one.status,
                            one.parent_count});
}

const Kin* Ancestry::find(BirthId id) const {
    const auto at = std::ranges::lower_bound(all_, id, {}, &Kin::id);
    return at == all_.end() || at->id != id ? nullptr : &*at;
}

BirthId Ancestry::origin_of(BirthId id) const {
    const Kin* kin = find(id);
    return kin == nullptr ? id : kin->origin;
}

KinParents Ancestry::parents_of(const Kin& kin) const {
    KinParents parents;
    for (const BirthId parent : std::span(kin.parents).first(kin.parent_count))
        parents.push_back(origin_of(parent));
    return parents;
}

Lineage lineage_of(const Ancestry& ancestry, BirthId last) {
    Lineage lineage{{last, 0}};
    // Parents are older: from the newest on, each is met after all of its children.
    for (auto at = lineage.rbegin(); at != lineage.rend(); ++at) {
        const Kin* kin = ancestry.find(at->first);
        if (kin == nullptr) continue;
        for (const BirthId parent : ancestry.parents_of(*kin)) {
            const auto [known, added] = lineage.emplace(parent, at->second + 1);
            known->second = std::min(known->second, at->second + 1);
        }
    }
    return lineage;
}

}  // namespace cambrian::launch
