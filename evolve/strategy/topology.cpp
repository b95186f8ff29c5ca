#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/evolve/strategy/islands.hpp"

namespace cambrian::evolve {

namespace {

/// The largest divisor not above the square root.
std::uint64_t rows_of(std::uint64_t count) {
    std::uint64_t rows = 1;
    for (std::uint64_t divisor = 1; divisor * divisor <= count; ++divisor) {
        rows = count % divisor == 0 ? divisor : rows;
    }
    return rows;
}

std::set<std::uint64_t> torus(std::uint64_t count, std::uint64_t island) {
    const std::uint64_t rows = rows_of(count);
    const std::uint64_t columns = count / rows;
    const std::uint64_t row = island / columns;
    const std::uint64_t column = island % columns;
    return {row * columns + (column + 1) % columns,
            row * columns + (column + columns - 1) % columns, (row + 1) % rows * columns + column,
            (row + rows - 1) % rows * columns + column};
}

std::set<std::uint64_t> all_but(std::uint64_t count, std::uint64_t island) {
    std::set<std::uint64_t> others;
    for (std::uint64_t other = 0; other < count; ++other) {
        if (other != island) {
            others.insert(other);
        }
    }
    return others;
}

std::set<std::uint64_t> hypercube(std::uint64_t count, std::uint64_t island) {
    std::set<std::uint64_t> others;
    for (std::uint64_t bit = 1; bit < count; bit <<= 1U) {
        if ((island ^ bit) < count) {
            others.insert(island ^ bit);
        }
    }
    return others;
}

std::uint64_t any_other(std::uint64_t count, std::uint64_t island, std::uint64_t generation,
                        std::uint64_t seed) {
    RandomStream rng(random_key(seed, "migrate", island), generation);
    const std::uint64_t other = rng.index(static_cast<std::uint32_t>(count - 1));
    return other + (other >= island ? 1 : 0);
}

}  // namespace

std::vector<std::uint64_t> neighbours(const IslandSettings& settings, std::uint64_t island,
                                      std::uint64_t generation, std::uint64_t seed) {
    const std::uint64_t count = settings.count;
    CAMBRIAN_EXPECT(island < count);
    if (count < 2) {
        return {};
    }
    std::set<std::uint64_t> others;
    switch (settings.topology) {
        case Topology::ring:
            others = {(island + count - 1) % count};
            break;
        case Topology::torus:
            others = torus(count, island);
            break;
        case Topology::complete:
            others = all_but(count, island);
            break;
        case Topology::star:
            others = island == 0 ? all_but(count, 0) : std::set<std::uint64_t>{0};
            break;
        case Topology::hypercube:
            others = hypercube(count, island);
            break;
        case Topology::random:
            others = {any_other(count, island, generation, seed)};
            break;
    }
    others.erase(island);
    return {others.begin(), others.end()};
}

std::vector<std::uint64_t> island_sizes(const IslandSettings& settings, std::uint64_t population) {
    const std::uint64_t count = settings.count;
    if (!settings.sizes.empty()) {
        std::uint64_t sum = 0;
        for (const std::uint64_t size : settings.sizes) {
            sum += std::min(size, std::numeric_limits<std::uint64_t>::max() - sum);
        }
        if (settings.sizes.size() != count || sum != population ||
            std::ranges::find(settings.sizes, 0U) != settings.sizes.end()) {
            throw ConfigError(fmt::format(
                "islands.sizes has {} sizes of {} individuals in all (islands.count is {}, "
                "population.size {}) give each island at least one individual, and all of them the "
                "population",
                settings.sizes.size(), sum, count, population));
        }
        return settings.sizes;
    }
    if (count == 0 || count > population) {
        throw ConfigError(fmt::format(
            "islands.count is {} (population.size is {}) use from 1 to as many islands as "
            "individuals",
            count, population));
    }
    std::vector<std::uint64_t> sizes(count, population / count);
    for (std::uint64_t island = 0; island < population % count; ++island) {
        ++sizes[island];
    }
    return sizes;
}

}  // namespace cambrian::evolve
