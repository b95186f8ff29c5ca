#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/genome/genome.hpp"
#include "cambrian/evolve/genome/structure.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::uint32_t genome_format = 1;
constexpr std::uint32_t format_with_power = 2;  // ends with the genome's own weight_power
constexpr std::uint64_t gene_bytes = 24;

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

std::vector<std::byte> encode(const Genome& genome, std::span<const float> weights) {
    ArchiveWriter writer;
    const bool has_power = genome.weight_power > 0.0F;
    writer.write(has_power ? format_with_power : genome_format);
    writer.write(genome.blueprint);
    write(writer, genome.slot_genes);
    write(writer, genome.link_genes);
    write(writer, genome.head_gene);
    writer.write(weights);
    if (has_power) {
        writer.write(genome.weight_power);
    }
    return writer.take();
}

}  // namespace

std::vector<std::byte> encode(const Genome& genome) {
    return encode(genome, genome.weights);
}

std::vector<std::byte> encode(const Individual& individual) {
    CAMBRIAN_EXPECT(individual.on_host());
    return encode(individual.structure->genome(), individual.weights);
}

Genome decode_genome(std::span<const std::byte> bytes, std::string_view source) {
    ArchiveReader reader(bytes, std::string(source));
    std::uint32_t found = 0;
    reader.read(found);
    if (found != genome_format && found != format_with_power) {
        reader.fail("the genome has format " + std::to_string(found) + ", this program reads " +
                    std::to_string(genome_format) + " and " + std::to_string(format_with_power));
    }
    Genome genome;
    reader.read(genome.blueprint);
    read(reader, genome.slot_genes);
    read(reader, genome.link_genes);
    read(reader, genome.head_gene);
    reader.read(genome.weights);
    if (found == format_with_power) {
        reader.read(genome.weight_power);
    }
    reader.finish();
    try {
        check(genome);
    } catch (const ContractViolation& violation) {
        reader.fail(violation.what());
    }
    return genome;
}

}  // namespace cambrian::evolve
