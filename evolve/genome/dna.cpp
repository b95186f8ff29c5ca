#include "cambrian/evolve/genome/dna.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "cambrian/evolve/genome/alignment.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/genome/weight_math.hpp"

namespace cambrian::evolve {

namespace {

constexpr double shift_overlap = 0.8;  // a shifted layer is at least this similar
constexpr double shift_margin = 0.05;  // and by this much more than at home

std::vector<float> direction(std::span<const float> weights) {
    std::vector<float> result(weights.begin(), weights.end());
    const double norm = std::sqrt(dot(weights, weights));
    if (norm > 0.0) {
        for (float& value : result) {
            value = static_cast<float>(static_cast<double>(value) / norm);
        }
    }
    return result;
}

/// Index in `b` of the layer at the same place, or -1. The heads, always last, face each other;
/// grids of different extents are compared by coordinates.
std::vector<int> partners(const Genome& a, const Dna& dna_a, const Genome& b, const Dna& dna_b) {
    std::map<std::array<int, 4>, int> places;
    for (std::size_t i = 0; i + 1 < dna_b.size(); ++i) {
        places[b.blueprint.grid.coordinates(dna_b[i].slot)] = static_cast<int>(i);
    }
    std::vector<int> result;
    for (std::size_t i = 0; i + 1 < dna_a.size(); ++i) {
        const auto found = places.find(a.blueprint.grid.coordinates(dna_a[i].slot));
        result.push_back(found == places.end() ? -1 : found->second);
    }
    result.push_back(static_cast<int>(dna_b.size()) - 1);
    return result;
}

/// What a layer loses by leaving home: its overlap there, or nothing when home is empty.
struct Home {
    int partner = -1;
    double overlap = 0.0;
};

std::vector<Home> reversed(const std::vector<Home>& homes, std::size_t count) {
    std::vector<Home> result(count);
    for (std::size_t i = 0; i < homes.size(); ++i) {
        if (homes[i].partner >= 0) {
            result[static_cast<std::size_t>(homes[i].partner)] = {static_cast<int>(i),
                                                                  homes[i].overlap};
        }
    }
    return result;
}

bool may_leave(const Home& home) {
    return home.overlap + shift_margin < 1.0;
}

/// All moves that are worth it, best first. Heads stay where they are.
std::vector<LogicShift> candidates(const Dna& a, const Dna& b, const std::vector<Home>& homes) {
    const std::vector<Home> homes_b = reversed(homes, b.size());
    std::vector<LogicShift> found;
    for (std::size_t i = 0; i + 1 < a.size(); ++i) {
        if (a[i].direction.empty() || !may_leave(homes[i])) {
            continue;
        }
        for (std::size_t j = 0; j + 1 < b.size(); ++j) {
            if (homes[i].partner == static_cast<int>(j) || !may_leave(homes_b[j])) {
                continue;
            }
            const double overlap = similarity(a[i], b[j]);
            const double home = std::max(homes[i].overlap, homes_b[j].overlap);
            if (overlap > shift_overlap && overlap > home + shift_margin) {
                found.push_back({static_cast<int>(i), static_cast<int>(j), overlap});
            }
        }
    }
    std::sort(found.begin(), found.end(), [](const LogicShift& x, const LogicShift& y) {
        return std::tuple(-x.overlap, x.from, x.to) < std::tuple(-y.overlap, y.from, y.to);
    });
    return found;
}

std::vector<LogicShift> shifts(const Dna& a, const Dna& b, const std::vector<Home>& homes) {
    std::vector<bool> taken_a(a.size(), false);
    std::vector<bool> taken_b(b.size(), false);
    std::vector<LogicShift> result;
    for (const LogicShift& shift : candidates(a, b, homes)) {
        const auto from = static_cast<std::size_t>(shift.from);
        const auto to = static_cast<std::size_t>(shift.to);
        if (!taken_a[from] && !taken_b[to]) {
            taken_a[from] = true;
            taken_b[to] = true;
            result.push_back({a[from].slot, b[to].slot, shift.overlap});
        }
    }
    return result;
}

/// What each layer of one network finds at its place in another.
struct Overlaps {
    std::vector<Home> homes;
    double sum = 0.0;
    std::size_t matched = 0;
    std::size_t all = 0;  ///< Of both networks together.

    [[nodiscard]] double overall() const { return sum / static_cast<double>(all); }
};

Overlaps overlaps_of(const Genome& a, const Dna& dna_a, const Genome& b, const Dna& dna_b) {
    const std::vector<int> facing = partners(a, dna_a, b, dna_b);
    Overlaps result;
    result.homes.resize(dna_a.size());
    for (std::size_t i = 0; i < dna_a.size(); ++i) {
        if (facing[i] >= 0) {
            const double overlap = similarity(dna_a[i], dna_b[static_cast<std::size_t>(facing[i])]);
            result.homes[i] = {facing[i], overlap};
            result.sum += overlap;
            ++result.matched;
        }
    }
    result.all = dna_a.size() + dna_b.size() - result.matched;
    return result;
}

/// Where a link starts and ends, whatever the extents of the grid.
using LinkPlace = std::tuple<std::array<int, 4>, std::array<int, 4>, LinkKind>;

LinkPlace place_of(const GridSize& grid, const Link& link) {
    const auto end = [&grid](int slot) {
        const bool inside = slot != input_port && slot != grid.slots();
        return inside ? grid.coordinates(slot)
                      : std::array{slot == input_port ? -1 : largest_grid, 0, 0, 0};
    };
    return {end(link.source), end(link.target), link.kind};
}

/// Links by their places, with their weights.
std::map<LinkPlace, std::pair<Link, std::span<const float>>> links_of(const Genome& genome) {
    std::map<LinkPlace, std::pair<Link, std::span<const float>>> links;
    for (const GeneWeights& gene : gene_weights(genome.blueprint)) {
        if (gene.link >= 0) {
            const Link& link = genome.blueprint.links[static_cast<std::size_t>(gene.link)];
            links[place_of(genome.blueprint.grid, link)] = {link, weights_of(genome, gene)};
        }
    }
    return links;
}

void compare_links(const Genome& a, const Genome& b, Comparison& result) {
    const auto links_a = links_of(a);
    const auto links_b = links_of(b);
    double sum = 0.0;
    for (const auto& [place, link] : links_a) {
        const auto other = links_b.find(place);
        LinkOverlap& overlap = result.links.emplace_back();
        overlap.link = link.first;
        overlap.matched = other != links_b.end();
        if (overlap.matched) {
            overlap.overlap =
                similarity({.structure = {}, .direction = direction(link.second)},
                           {.structure = {}, .direction = direction(other->second.second)});
            sum += overlap.overlap;
        }
    }
    for (const auto& [place, link] : links_b) {
        if (!links_a.contains(place)) {
            result.links.push_back({link.first});
        }
    }
    if (!result.links.empty()) {
        result.linked = sum / static_cast<double>(result.links.size());
    }
}

/// As they are.
Comparison compared(const Genome& a, const Genome& b, const DistanceSettings& weights) {
    const Dna dna_a = dna(a);
    const Dna dna_b = dna(b);
    const Overlaps overlaps = overlaps_of(a, dna_a, b, dna_b);
    Comparison result;
    for (std::size_t i = 0; i < dna_a.size(); ++i) {
        const Home& home = overlaps.homes[i];
        if (home.partner < 0) {
            continue;
        }
        result.overlaps.push_back({dna_a[i].slot, home.overlap});
        if (dna_a[i].enabled != dna_b[static_cast<std::size_t>(home.partner)].enabled) {
            result.toggled.push_back(dna_a[i].slot);
        }
    }
    const auto matched = static_cast<double>(overlaps.matched);  // the heads always match
    result.overall = overlaps.overall();
    result.matched = overlaps.sum / matched;
    result.enabled = 1.0 - static_cast<double>(result.toggled.size()) / matched;
    result.shifts = shifts(dna_a, dna_b, overlaps.homes);
    result.distance = distance(a, b, weights);
    compare_links(a, b, result);
    return result;
}

}  // namespace

Dna dna(const Genome& genome) {
    Dna result;
    for (const GeneWeights& gene : gene_weights(genome.blueprint)) {
        if (gene.link >= 0) {
            continue;
        }
        const AnyLayer& layer = layer_at(genome.blueprint, gene.slot);
        const auto slot = static_cast<std::size_t>(gene.slot);
        const bool head = slot == genome.blueprint.slots.size();
        result.push_back({.slot = gene.slot,
                          .type = std::string(layer.type()),
                          .structure = structure_hash(layer),
                          .wiring = wiring_of(layer),
                          .enabled = head || genome.blueprint.slots[slot]->enabled,
                          .direction = direction(weights_of(genome, gene))});
    }
    return result;
}

double similarity(const LayerSignature& a, const LayerSignature& b) {
    if (a.type != b.type || a.wiring != b.wiring || a.direction.size() != b.direction.size()) {
        return 0.0;
    }
    if (a.direction.empty()) {
        return a.structure == b.structure ? 1.0 : 0.0;
    }
    if (a.direction == b.direction) {
        return 1.0;  // rounding leaves the square of a direction a little off, and zeros have none
    }
    return std::clamp(dot(a.direction, b.direction), -1.0, 1.0);
}

double overall(const Genome& a, const Dna& dna_a, const Genome& b, const Dna& dna_b) {
    return overlaps_of(a, dna_a, b, dna_b).overall();
}

Comparison compare(const Genome& a, const Genome& b, DnaMode mode,
                   const DistanceSettings& weights) {
    Comparison as_is = compared(a, b, weights);
    if (mode == DnaMode::strict) {
        return as_is;
    }
    // The alignment knows nothing of, for one, how units of a layer read each other.
    Comparison in_order = compared(a, aligned(a, b), weights);
    return in_order.overall < as_is.overall ? as_is : in_order;
}

}  // namespace cambrian::evolve
