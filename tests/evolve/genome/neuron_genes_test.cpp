#include <gtest/gtest.h>

#include <cstring>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/evolve/support/neat_support.hpp"

// Genes inside layers of neurons: what of them is valid, and their bytes.
namespace cambrian::evolve {
namespace {

Genome genome_of_neurons() {
    Neurons layer{.in = 2, .out = 1, .neurons = {}, .connections = {}};
    layer.neurons.resize(3);
    layer.connections = {{.source = 0, .target = 1},
                         {.source = 3, .target = 2},
                         {.source = 4, .target = 0},
                         {.source = 1, .target = 0, .enabled = false},
                         {.source = 2, .target = 2, .delay = 1}};
    return testing::neat_founder(testing::neuron_blueprint(layer));
}

/// The number after the byte that tells how an archive orders bytes.
std::uint32_t format_of(const Genome& genome) {
    const std::vector<std::byte> bytes = encode(genome);
    std::uint32_t format = 0;
    std::memcpy(&format, bytes.data() + 1, sizeof(format));
    return format;
}

TEST(NeuronGenes, SurviveEncoding) {
    const Genome genome = genome_of_neurons();
    check(genome);
    const Genome back = decode_genome(encode(genome), "test");
    EXPECT_EQ(back, genome);
    EXPECT_EQ(content_hash(back), content_hash(genome));
    EXPECT_EQ(format_of(genome), 3U);
    // What older programs read stays what they read.
    EXPECT_EQ(format_of(testing::founder(testing::mixed_blueprint())), 1U);
    Genome whole = genome;
    whole.neuron_genes.clear();
    EXPECT_EQ(format_of(whole), 1U);
    EXPECT_EQ(decode_genome(encode(whole), "whole"), whole);
}

TEST(NeuronGenes, DamagedBytesAreAnInputErrorOrAnotherValidGenome) {
    const std::vector<std::byte> bytes = encode(genome_of_neurons());
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_THROW((void)decode_genome(std::span(bytes).first(length), "cut"), InputError);
    }
    int refused = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (const std::byte flip : {std::byte{0xFF}, std::byte{0x01}, std::byte{0x80}}) {
            std::vector<std::byte> damaged = bytes;
            damaged[at] ^= flip;
            try {
                check(decode_genome(damaged, "damaged"));
            } catch (const InputError&) {
                ++refused;
            }
        }
    }
    EXPECT_GT(refused, 100);
}

TEST(NeuronGenes, AreThoseOfTheLayer) {
    const Genome good = genome_of_neurons();
    const auto refused = [&good](const auto& change) {
        Genome bad = good;
        change(bad);
        EXPECT_THROW(check(bad), ContractViolation);
        EXPECT_THROW((void)decode_genome(encode(bad), "bad"), InputError);
    };
    refused([](Genome& g) { g.neuron_genes[0].neurons.pop_back(); });
    refused([](Genome& g) { g.neuron_genes[0].connections.emplace_back(); });
    refused([](Genome& g) { g.neuron_genes[0].slot = 0; });
    refused([](Genome& g) { g.neuron_genes[0].slot = 1000; });
    refused([](Genome& g) { g.neuron_genes.push_back(g.neuron_genes[0]); });
    refused([](Genome& g) { g.neuron_genes[0].connections[1].id = {}; });
    refused(
        [](Genome& g) { g.neuron_genes[0].connections[1].id = g.neuron_genes[0].neurons[2].id; });
    // A cycle that is there only where all connections are enabled.
    refused([](Genome& g) {
        neurons_of(g, g.blueprint.grid.slots()).connections[4] = {
            .source = 4, .target = 1, .enabled = false};
    });
}

TEST(NeuronGenes, ContentHashSeesThem) {
    const Genome genome = genome_of_neurons();
    Genome other = genome;
    other.neuron_genes[0].connections[2].born = 4;
    EXPECT_NE(content_hash(other), content_hash(genome));
    other = genome;
    other.neuron_genes.clear();
    EXPECT_NE(content_hash(other), content_hash(genome));
}

TEST(NeuronGenes, StandInTheHistoryInPlaceOfTheirLayer) {
    const Genome genome = genome_of_neurons();
    const Structure structure(genome);
    const History& history = structure.history();
    ASSERT_EQ(history.genes.size(), 8U);
    std::int64_t weights = 0;
    for (std::size_t i = 0; i < history.genes.size(); ++i) {
        EXPECT_TRUE(i == 0 || history.genes[i - 1].id < history.genes[i].id);
        const HistoricalGene& gene = history.genes[i];
        const auto place = static_cast<std::size_t>(gene.offset);
        EXPECT_EQ(gene.id, place < 5 ? genome.neuron_genes[0].connections[place].id
                                     : genome.neuron_genes[0].neurons[place - 5].id);
        weights += gene.count;
    }
    EXPECT_EQ(weights, static_cast<std::int64_t>(genome.weights.size()));
}

}  // namespace
}  // namespace cambrian::evolve
