#include "cambrian/evolve/strategy/kinship.hpp"

namespace cambrian::evolve {

std::uint32_t matching_species(const Kinship& kinship, const Individual& child,
                               std::span<const Individual* const> representatives) {
    const Compared own{child.structure->history(), child.weights};
    std::uint32_t found = unmatched;
    double limit = kinship.threshold;
    for (std::size_t i = 0; i < representatives.size(); ++i) {
        const Individual& other = *representatives[i];
        const double apart =
            distance(own, {other.structure->history(), other.weights}, kinship.distance);
        if (apart < limit) {
            found = static_cast<std::uint32_t>(i);
            if (kinship.matching == Matching::first) {
                break;
            }
            limit = apart;
        }
    }
    return found;
}

std::vector<std::uint32_t> found_species(const Kinship& kinship,
                                         std::span<const Individual* const> genomes) {
    const auto known = static_cast<std::uint32_t>(kinship.representatives.size());
    std::vector<const Individual*> founders;
    std::vector<std::uint32_t> species;
    for (const Individual* genome : genomes) {
        std::uint32_t found = matching_species(kinship, *genome, founders);
        if (found == unmatched) {
            found = static_cast<std::uint32_t>(founders.size());
            founders.push_back(genome);
        }
        species.push_back(known + found);
    }
    return species;
}

}  // namespace cambrian::evolve
