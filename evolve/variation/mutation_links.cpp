#include <algorithm>

#include "cambrian/evolve/variation/mutation_detail.hpp"

namespace cambrian::evolve {

namespace {

/// Forward links run with the index order, from the input port to the head; backward links run
/// against it and need steps in time.
std::vector<Link> absent_links(const Blueprint& blueprint, const GenomeLimits& limits) {
    std::vector<int> ends = filled_slots(blueprint);
    const int head = blueprint.grid.slots();
    std::vector<Link> absent;
    const auto add = [&blueprint, &absent](Link link) {
        if (!std::binary_search(blueprint.links.begin(), blueprint.links.end(), link,
                                link_before)) {
            absent.push_back(link);
        }
    };
    const int reader = last_reader_of_ids(blueprint);
    const auto add_forward = [&ends, &add, head, reader](int source) {
        for (const int target : ends) {
            if (source < target && reader < target) {
                add({source, target, LinkKind::forward});
            }
        }
        if (reader < head) {
            add({source, head, LinkKind::forward});
        }
    };
    add_forward(input_port);
    for (const int source : ends) {
        add_forward(source);
        for (const int target : ends) {
            if (limits.time && target <= source && reader < target) {
                add({source, target, LinkKind::backward});
            }
        }
    }
    return absent;
}

GeneWeights link_weights(const Blueprint& blueprint, std::ptrdiff_t link) {
    const std::vector<GeneWeights> genes = gene_weights(blueprint);
    const auto first = genes.end() - static_cast<std::ptrdiff_t>(blueprint.links.size());
    return *(first + link);
}

}  // namespace

std::optional<Mutant> add_link(RandomStream& rng, const MutationSettings&,
                               const GenomeLimits& limits, const Genome& genome,
                               std::uint64_t birth) {
    const std::vector<Link> absent = absent_links(genome.blueprint, limits);
    if (absent.empty()) {
        return std::nullopt;
    }
    const Link link = pick(rng, absent);
    Mutant child{genome};
    std::vector<Link>& links = child.genome.blueprint.links;
    const auto place = std::lower_bound(links.begin(), links.end(), link, link_before);
    const std::ptrdiff_t index = place - links.begin();
    links.insert(place, link);
    child.genome.link_genes.insert(child.genome.link_genes.begin() + index,
                                   derive_link_gene(genome, link, birth));
    const GeneWeights added = link_weights(child.genome.blueprint, index);
    if (added.count > max_new_weights) {
        return std::nullopt;
    }
    child.edits.push_back(
        {added.offset, 0, std::vector<float>(static_cast<std::size_t>(added.count), 0.0F)});
    return child;
}

std::optional<Mutant> drop_link(RandomStream& rng, const MutationSettings&, const GenomeLimits&,
                                const Genome& genome, std::uint64_t) {
    const auto count = static_cast<std::uint32_t>(genome.blueprint.links.size());
    if (count == 0) {
        return std::nullopt;
    }
    const auto index = static_cast<std::ptrdiff_t>(rng.index(count));
    const GeneWeights dropped = link_weights(genome.blueprint, index);
    Mutant child{genome};
    child.genome.blueprint.links.erase(child.genome.blueprint.links.begin() + index);
    child.genome.link_genes.erase(child.genome.link_genes.begin() + index);
    child.edits.push_back({dropped.offset, dropped.count});
    return child;
}

}  // namespace cambrian::evolve
