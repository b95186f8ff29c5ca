#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/genome/genome.hpp"
#include "cambrian/evolve/genome/structure.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::uint32_t genome_format = 1;
// What a format adds: the genes of neurons after that of the head, the genome's own weight_power at
// the end, or both.
constexpr std::uint32_t format_with_power = 2;
constexpr std::uint32_t format_with_neurons = 3;
constexpr std::uint32_t format_with_both = 4;
constexpr std::uint64_t gene_bytes = 24;
constexpr std::uint64_t min_layer_bytes = 20;

void write(ArchiveWriter& writer, const Gene& gene) {
    writer.write(gene.id);
    writer.write(gene.born);
}

void write(ArchiveWriter& writer, const std::vector<Gene>& genes) {
    writer.write(static_cast<std::uint64_t>(genes.size()));
    for (const Gene& gene : genes) {
        write(writer, gene);
    }
}

void write(ArchiveWriter& writer, const std::vector<NeuronGenes>& layers) {
    writer.write(static_cast<std::uint64_t>(layers.size()));
    for (const NeuronGenes& genes : layers) {
        writer.write(static_cast<std::uint32_t>(genes.slot));
        write(writer, genes.neurons);
        write(writer, genes.connections);
    }
}

void read(ArchiveReader& reader, Gene& gene) {
    reader.read(gene.id);
    reader.read(gene.born);
}

void read(ArchiveReader& reader, std::vector<Gene>& genes) {
    genes.resize(reader.read_count(gene_bytes));
    for (Gene& gene : genes) {
        read(reader, gene);
    }
}

void read(ArchiveReader& reader, std::vector<NeuronGenes>& layers) {
    reader.read_list(layers, min_layer_bytes, [&](NeuronGenes& genes) {
        std::uint32_t slot = 0;
        reader.read(slot);
        if (slot > static_cast<std::uint32_t>(largest_grid)) {
            reader.fail("genes of neurons are of no layer of neurons");
        }
        genes.slot = static_cast<int>(slot);
        read(reader, genes.neurons);
        read(reader, genes.connections);
    });
}

void write(ArchiveWriter& writer, const Genome& genome, std::span<const float> weights) {
    const bool has_power = genome.weight_power > 0.0F;
    writer.write(genome.neuron_genes.empty()
                     ? (has_power ? format_with_power : genome_format)
                     : (has_power ? format_with_both : format_with_neurons));
    writer.write(genome.blueprint);
    write(writer, genome.slot_genes);
    write(writer, genome.link_genes);
    write(writer, genome.head_gene);
    if (!genome.neuron_genes.empty()) {
        write(writer, genome.neuron_genes);
    }
    writer.write(weights);
    if (has_power) {
        writer.write(genome.weight_power);
    }
}

std::vector<std::byte> encode(const Genome& genome, std::span<const float> weights) {
    ArchiveWriter writer;
    write(writer, genome, weights);
    return writer.take();
}

/// What is written last; not checked.
Genome read_last_genome(ArchiveReader& reader) {
    std::uint32_t found = 0;
    reader.read(found);
    if (found < genome_format || found > format_with_both) {
        reader.fail("the genome has format " + std::to_string(found) + ", this program reads " +
                    std::to_string(genome_format) + " to " + std::to_string(format_with_both));
    }
    Genome genome;
    reader.read(genome.blueprint);
    read(reader, genome.slot_genes);
    read(reader, genome.link_genes);
    read(reader, genome.head_gene);
    if (found == format_with_neurons || found == format_with_both) {
        read(reader, genome.neuron_genes);
    }
    reader.read(genome.weights);
    if (found == format_with_power || found == format_with_both) {
        reader.read(genome.weight_power);
    }
    reader.finish();
    return genome;
}

}  // namespace

std::vector<std::byte> encode(const Genome& genome) {
    return encode(genome, genome.weights);
}

std::vector<std::byte> encode(const Structure& structure) {
    ArchiveWriter writer;
    writer.write(static_cast<std::uint64_t>(structure.weight_count()));
    write(writer, structure.genome(), {});
    return writer.take();
}

SharedStructure decode_structure(std::span<const std::byte> bytes, std::string_view source) {
    ArchiveReader reader(bytes, std::string(source));
    std::int64_t weights = 0;
    reader.read(weights);
    Genome genome = read_last_genome(reader);
    const std::string fault =
        genome.weights.empty() ? structure_fault(genome, weights) : "it has weights of its own";
    if (!fault.empty()) {
        reader.fail("invalid structure (" + fault + ")");
    }
    return std::make_shared<const Structure>(std::move(genome));
}

Individual individual_of(SharedStructure structure, std::vector<float> weights,
                         std::string_view source) {
    const auto refuse = [&](const std::string& why) {
        throw InputError(std::string(source) + " has a genome that cannot be read (" + why +
                         ") check that every rank runs the same program");
    };
    if (std::ssize(weights) != structure->weight_count()) {
        refuse(std::to_string(weights.size()) + " weights for a structure of " +
               std::to_string(structure->weight_count()));
    }
    if (!std::ranges::all_of(weights, [](float weight) { return std::isfinite(weight); })) {
        refuse("a weight is not finite");
    }
    Individual individual;
    individual.structure = std::move(structure);
    individual.weights = std::move(weights);
    return individual;
}

std::vector<std::byte> encode(const Individual& individual) {
    CAMBRIAN_EXPECT(individual.on_host());
    return encode(individual.structure->genome(), individual.weights);
}

Genome decode_genome(std::span<const std::byte> bytes, std::string_view source) {
    ArchiveReader reader(bytes, std::string(source));
    Genome genome = read_last_genome(reader);
    try {
        check(genome);
    } catch (const ContractViolation& violation) {
        reader.fail(violation.what());
    }
    return genome;
}

}  // namespace cambrian::evolve
