#include "cambrian/evolve/variation/hyperneat/develop.hpp"

#include <utility>

#include "cambrian/evolve/variation/hyperneat/cppn.hpp"
#include "cambrian/evolve/variation/hyperneat/phenotype.hpp"
#include "cambrian/evolve/variation/hyperneat/substrate_search.hpp"

namespace cambrian::evolve {

namespace {

/// Neurons of the nodes of layers: sources of connections, see Phenotype::source.
using Sources = std::vector<std::vector<std::int64_t>>;

Sources add_nodes(const Substrate& substrate, Phenotype& phenotype) {
    Sources sources;
    const std::size_t outputs = substrate.layers().size() - 1;
    for (std::size_t layer = 0; layer <= outputs; ++layer) {
        std::vector<std::int64_t>& own = sources.emplace_back();
        for (std::int64_t i = 0; i < std::ssize(substrate.layers()[layer]); ++i) {
            own.push_back(layer == 0         ? i
                          : layer == outputs ? phenotype.source(i)
                                             : phenotype.source(phenotype.add_neuron()));
        }
    }
    return sources;
}

/// Connections from all nodes of one layer to a node of another.
void connect(Cppn& cppn, std::span<const SubstratePoint> from,
             std::span<const std::int64_t> sources, const SubstratePoint& to, std::int64_t target,
             std::int64_t delay, Phenotype& phenotype) {
    for (const SubstratePoint& point : from) {
        cppn.ask(point, to);
    }
    const std::span<const Cppn::Answer> answers = cppn.answers();
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (const float weight = cppn.connection_weight(answers[i]); weight != 0.0F) {
            phenotype.connect(sources[i], target, weight, delay);
        }
    }
}

Phenotype of_layers(const Substrate& substrate, Cppn& cppn) {
    Phenotype phenotype(substrate);
    const auto layers = substrate.layers();
    const Sources sources = add_nodes(substrate, phenotype);
    const bool recurrent = substrate.settings().recurrent;
    for (std::size_t to = 1; to < layers.size(); ++to) {
        for (std::size_t node = 0; node < layers[to].size(); ++node) {
            const SubstratePoint& point = layers[to][node];
            const std::int64_t target = sources[to][node] - phenotype.source(0);
            for (std::size_t from = 0; from < to; ++from) {
                if (substrate.sends(from, to)) {
                    connect(cppn, layers[from], sources[from], point, target, 0, phenotype);
                }
            }
            if (recurrent && to + 1 < layers.size()) {
                connect(cppn, layers[to], sources[to], point, target, 1, phenotype);
            }
            if (substrate.settings().bias) {
                cppn.ask(point, SubstratePoint{});
                phenotype.set_bias(target, cppn.bias(cppn.answers().front()));
            }
        }
    }
    return phenotype;
}

}  // namespace

Individual develop(const Substrate& substrate, const Individual& genotype) {
    Cppn cppn(substrate, genotype);
    return substrate.settings().type == SubstrateType::evolved
               ? search(substrate, cppn).individual()
               : of_layers(substrate, cppn).individual();
}

}  // namespace cambrian::evolve
