#include "cambrian/evolve/genome/genome_layout.hpp"

#include <algorithm>
#include <tuple>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/network/network_check.hpp"
#include "cambrian/engine/network/structure_words.hpp"

namespace cambrian::evolve {

namespace {

std::int64_t parameter_count(const AnyLayer& layer) {
    std::int64_t count = 0;
    for (const ParameterSpec& parameter : layer.parameters()) {
        count += parameter.shape.elements();
    }
    return count;
}

bool has_id(const Genome& genome, Hash128 id) {
    bool found = false;
    for_each_gene(genome, [&](const Gene& gene) { found = found || gene.id == id; });
    return found;
}

}  // namespace

const AnyLayer& layer_at(const Blueprint& blueprint, int slot) {
    const auto index = static_cast<std::size_t>(slot);
    if (index == blueprint.slots.size()) {
        return blueprint.head;
    }
    CAMBRIAN_EXPECT(index < blueprint.slots.size() && blueprint.slots[index]);
    return blueprint.slots[index]->layer;
}

bool parts_a_residual(const Blueprint& blueprint, int slot) {
    for (auto next = static_cast<std::size_t>(slot) + 1; next < blueprint.slots.size(); ++next) {
        if (blueprint.slots[next]) {
            return adds_preceding_input(blueprint.slots[next]->layer);
        }
    }
    return adds_preceding_input(blueprint.head);
}

std::vector<Shape> chain_shapes(const Blueprint& blueprint) {
    std::vector<Shape> shapes;
    shapes.reserve(blueprint.slots.size() + 1);
    shapes.push_back(input_row(blueprint));
    for (const std::optional<Slot>& slot : blueprint.slots) {
        const Shape& row = shapes.back();
        shapes.push_back(slot ? slot->layer.output_shape(row) : Shape(row));
    }
    return shapes;
}

bool keeps_width(std::span<const Shape> shapes, int slot) {
    const auto before = static_cast<std::size_t>(slot);
    return shapes[before].elements() == shapes[before + 1].elements();
}

std::vector<GeneWeights> gene_weights(const Blueprint& blueprint) {
    std::vector<GeneWeights> genes;
    genes.reserve(blueprint.slots.size() + blueprint.links.size() + 1);
    const std::vector<Shape> shapes =
        blueprint.links.empty() ? std::vector<Shape>() : chain_shapes(blueprint);
    lay_out_weights(
        blueprint, parameter_count,
        [&](std::size_t link) {
            return network_check::link_parameter(blueprint, shapes, blueprint.links[link])
                .shape.elements();
        },
        [&genes](const WeightBlock& block) { genes.push_back(block); });
    return genes;
}

std::vector<ParameterSpec> gene_parameters(const Blueprint& blueprint, const GeneWeights& gene) {
    if (gene.link < 0) {
        return layer_at(blueprint, gene.slot).parameters();
    }
    const Link& link = blueprint.links[static_cast<std::size_t>(gene.link)];
    return {network_check::link_parameter(blueprint, chain_shapes(blueprint), link)};
}

std::uint64_t wiring_of(const AnyLayer& layer) {
    if (const auto* neurons = std::get_if<Neurons>(&layer.variant())) {
        Hasher hasher;
        for (const Neurons::Connection& connection : neurons->connections) {
            hasher.add(connection.source);
            hasher.add(connection.target);
            hasher.add(connection.delay);
        }
        return hasher.hash64();
    }
    std::uint64_t inside = 0;
    layer.each_inner([&inside](const AnyLayer& inner) {
        if (const std::uint64_t wiring = wiring_of(inner); wiring != 0)
            inside = Hasher().add(inside).add(wiring).hash64();
    });
    return inside;
}

bool same_weights(const Blueprint& a, const GeneWeights& gene_a, const Blueprint& b,
                  const GeneWeights& gene_b) {
    if (gene_a.count != gene_b.count || (gene_a.link < 0) != (gene_b.link < 0)) {
        return false;
    }
    if (gene_a.link < 0) {
        const AnyLayer& layer_a = layer_at(a, gene_a.slot);
        const AnyLayer& layer_b = layer_at(b, gene_b.slot);
        if (layer_a == layer_b) {
            return true;
        }
        if (layer_a.type() != layer_b.type() || wiring_of(layer_a) != wiring_of(layer_b)) {
            return false;
        }
    }
    const std::vector<ParameterSpec> left = gene_parameters(a, gene_a);
    const std::vector<ParameterSpec> right = gene_parameters(b, gene_b);
    return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                      [](const ParameterSpec& x, const ParameterSpec& y) {
                          return x.name == y.name && x.shape == y.shape;
                      });
}

const Gene& gene_at(const Genome& genome, const GeneWeights& gene) {
    if (gene.link >= 0) {
        return genome.link_genes[static_cast<std::size_t>(gene.link)];
    }
    const auto slot = static_cast<std::size_t>(gene.slot);
    return slot == genome.slot_genes.size() ? genome.head_gene : genome.slot_genes[slot];
}

std::span<const float> weights_of(const Genome& genome, const GeneWeights& gene) {
    return std::span(genome.weights)
        .subspan(static_cast<std::size_t>(gene.offset), static_cast<std::size_t>(gene.count));
}

Hash128 end_id(const Genome& genome, int end) {
    if (end == input_port) {
        return {};
    }
    return gene_at(genome, {.slot = end}).id;
}

Gene derive_gene(const Genome& genome, Hash128 parent, std::string_view operation,
                 std::string_view layer_type, std::uint64_t birth) {
    std::uint64_t occurrence = 0;
    Hash128 id = historical_id(parent, operation, layer_type, occurrence);
    while (has_id(genome, id)) {
        id = historical_id(parent, operation, layer_type, ++occurrence);
    }
    return {.id = id, .born = birth};
}

Gene derive_link_gene(const Genome& genome, const Link& link, std::uint64_t birth) {
    const Hash128 ends =
        Hasher().add(end_id(genome, link.source)).add(end_id(genome, link.target)).hash128();
    return derive_gene(genome, ends, "link_add", name(link.kind), birth);
}

bool link_before(const Link& a, const Link& b) {
    return std::tie(a.source, a.target, a.kind) < std::tie(b.source, b.target, b.kind);
}

Hash128 structure_hash(const AnyLayer& layer) {
    StructureWords words(StructureWords::Genes::hashed);
    words.add(layer);
    return words.hash();
}

}  // namespace cambrian::evolve
