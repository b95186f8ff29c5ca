#include "cambrian/evolve/strategy/offspring.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {

namespace {

/// The fitness of all, in rising order.
std::vector<double> sorted_fitness(std::span<const SharingSpecies> species) {
    std::vector<double> all;
    for (const SharingSpecies& one : species) {
        for (const Survivor& member : one.members) {
            all.push_back(member.fitness);
        }
    }
    std::ranges::sort(all);
    return all;
}

/// Fitness as it is shared, of one generation.
class Shared {
  public:
    Shared(std::span<const SharingSpecies> species, Sharing sharing)
        : sharing_(sharing), sorted_(sorted_fitness(species)) {
        if (sharing == Sharing::plain && !sorted_.empty() && sorted_.front() < 0.0) {
            throw ConfigError(fmt::format(
                "species.sharing is \"plain\" (a fitness is {}, and none may be negative) set it "
                "to \"shifted\" or \"ranks\"",
                sorted_.front()));
        }
    }

    [[nodiscard]] double operator()(double fitness) const {
        switch (sharing_) {
            case Sharing::plain:
                // A share of the largest: sums of large numbers stay finite.
                return sorted_.back() > 0.0 ? fitness / sorted_.back() : 0.0;
            case Sharing::ranks:
                // Equals have equal ranks.
                return static_cast<double>(std::ranges::lower_bound(sorted_, fitness) -
                                           sorted_.begin() + 1);
            case Sharing::shifted:
                break;
        }
        // Halves, since the range of two finite numbers may be none.
        const double range = 0.5 * sorted_.back() - 0.5 * sorted_.front();
        return range > 0.0 ? (0.5 * fitness - 0.5 * sorted_.front()) / range : 1.0;
    }

  private:
    Sharing sharing_;
    std::vector<double> sorted_;
};

}  // namespace

std::vector<double> shared_fitness(std::span<const SharingSpecies> species,
                                   const SpeciesSettings& settings) {
    const Shared shared(species, settings.sharing);
    std::vector<double> result;
    for (const SharingSpecies& one : species) {
        CAMBRIAN_EXPECT(!one.members.empty());
        double sum = 0.0;
        for (const Survivor& member : one.members) {
            sum += shared(member.fitness);
        }
        double fitness = sum / static_cast<double>(one.members.size());
        if (one.age < settings.young_age) {
            fitness *= settings.young_boost;
        } else if (one.age >= settings.old_age) {
            fitness *= settings.old_penalty;
        }
        result.push_back(fitness);
    }
    return result;
}

std::vector<std::uint64_t> offspring_counts(std::span<const double> shares, std::uint64_t births,
                                            std::uint64_t least) {
    CAMBRIAN_EXPECT(!shares.empty() && least * shares.size() <= births);
    const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::vector<std::uint64_t> counts;
    std::vector<double> remainders;
    std::uint64_t given = 0;
    for (const double share : shares) {
        const double part = total > 0.0 ? share / total : 1.0 / static_cast<double>(shares.size());
        const double quota = part * static_cast<double>(births);
        // Rounding may give all of them one too many together.
        const std::uint64_t count = std::min(static_cast<std::uint64_t>(quota), births - given);
        given += count;
        counts.push_back(count);
        remainders.push_back(quota - static_cast<double>(count));
    }
    std::vector<std::size_t> order(shares.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t i) { return remainders[i]; });
    for (std::size_t i = 0; given < births; ++i, ++given) {
        ++counts[order[i % order.size()]];
    }
    for (std::uint64_t& count : counts) {
        while (count < least) {
            --*std::ranges::max_element(counts);
            ++count;
        }
    }
    return counts;
}

}  // namespace cambrian::evolve
