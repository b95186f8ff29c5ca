#include "cambrian/evolve/genome/structure.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"
#include "cambrian/engine/network/observe/summary.hpp"
#include "cambrian/engine/network/structure_words.hpp"

namespace cambrian::evolve {

namespace {

/// Never 0.
std::uint64_t word_of(const PackedAttribute& packed) {
    const std::uint64_t scales = packed.scales ? 1 + static_cast<std::uint64_t>(*packed.scales) : 0;
    return (1 + static_cast<std::uint64_t>(packed.dtype)) | scales << 8U;
}

/// Graphs that read codes are those of their formats, which others are not.
Hash128 with_packing(const Hash128& hash, const PackedWeights& packed) {
    std::vector<std::uint64_t> words{hash.low, hash.high};
    for (const PackedWeights::Place& place : packed.places())
        words.push_back(place.packed ? word_of(*place.packed) : 0);
    return hash128(std::as_bytes(std::span(words)));
}

/// Networks with equal paths take the same ways through an interpreter.
std::uint64_t path_of(std::span<const std::int32_t> words) {
    constexpr std::size_t instructions = 9;
    constexpr unsigned bits = 7;
    std::uint64_t path = 0;
    for (std::size_t i = 0, at = 0; i < instructions; ++i) {
        path <<= bits;
        if (at >= words.size()) {
            continue;
        }
        const auto& instruction = *reinterpret_cast<const BytecodeInstruction*>(&words[at]);
        const bool activates = instruction.op == BytecodeOp::dense;
        const std::int32_t code = activates ? instruction.detail : 0;
        path |= static_cast<std::uint64_t>(instruction.op) << 3U |
                (static_cast<std::uint64_t>(code) & 7U);
        at += static_cast<std::size_t>(bytecode_length(instruction));
    }
    return path;
}

}  // namespace

std::vector<ActivationGene> activation_genes(const Blueprint& blueprint) {
    std::vector<ActivationGene> genes;
    for (const int slot : filled_slots(blueprint)) {
        const std::size_t count = layer_at(blueprint, slot).activations().size();
        for (std::size_t index = 0; index < count; ++index) {
            genes.push_back({.slot = slot, .index = index});
        }
    }
    return genes;
}

std::vector<int> filled_slots(const Blueprint& blueprint) {
    std::vector<int> filled;
    filled.reserve(blueprint.slots.size());
    for (std::size_t slot = 0; slot < blueprint.slots.size(); ++slot) {
        if (blueprint.slots[slot]) {
            filled.push_back(static_cast<int>(slot));
        }
    }
    return filled;
}

int last_reader_of_ids(const Blueprint& blueprint) {
    if (takes_ids(blueprint.head)) {
        return blueprint.grid.slots();
    }
    for (int slot = blueprint.grid.slots() - 1; slot >= 0; --slot) {
        const std::optional<Slot>& filled = blueprint.slots[static_cast<std::size_t>(slot)];
        if (filled && takes_ids(filled->layer)) {
            return slot;
        }
    }
    return -1;
}

std::vector<int> togglable_slots(const Blueprint& blueprint) {
    const std::vector<Shape> shapes = chain_shapes(blueprint);
    std::vector<int> slots = filled_slots(blueprint);
    const int reader = last_reader_of_ids(blueprint);
    std::erase_if(slots, [&](int slot) { return slot < reader || !keeps_width(shapes, slot); });
    return slots;
}

Structure::Structure(Genome genome)
    : genome_(std::move(genome)),
      genes_(gene_weights(genome_.blueprint)),
      activation_genes_(evolve::activation_genes(genome_.blueprint)),
      filled_slots_(evolve::filled_slots(genome_.blueprint)),
      togglable_slots_(evolve::togglable_slots(genome_.blueprint)) {
    genome_.weights = {};
}

std::int64_t Structure::weight_count() const {
    return genes_.back().offset + genes_.back().count;
}

const History& Structure::history() const {
    history_once_.call([this] { history_ = history_of(genome_); });
    return history_;
}

const Structure::GraphForm& Structure::graph() const {
    graph_once_.call([this] {
        StructureWords words(StructureWords::Genes::apart);
        graph_.hash = words.read(blueprint());
        if (const PackedWeights* own = packed(); own != nullptr && own->any())
            graph_.hash = with_packing(graph_.hash, *own);
        graph_.activations = words.activations();
        graph_.enabled = words.enabled();
    });
    return graph_;
}

const Structure::BytecodeForm* Structure::bytecode() const {
    bytecode_once_.call([this] {
        if (!BytecodeWriter::can_write(blueprint())) {
            return;
        }
        BytecodeForm form;
        form.capacity = BytecodeWriter().write(blueprint(), form.words, form.packings);
        form.hash = hash128(std::as_bytes(std::span(form.words)));
        form.path = path_of(form.words);
        bytecode_ = std::move(form);
    });
    return bytecode_ ? &*bytecode_ : nullptr;
}

const WeightFormats* Structure::formats() const {
    formats_once_.call([this] {
        if (encodes_weights(blueprint())) {
            const Network network(blueprint());
            formats_.emplace(network);
            packed_.emplace(network);
        }
    });
    return formats_ ? &*formats_ : nullptr;
}

const PackedWeights* Structure::packed() const {
    return formats() != nullptr ? &*packed_ : nullptr;
}

std::int64_t Structure::stored_bytes() const {
    constexpr std::int64_t float_bytes = 4;
    const WeightFormats* own = formats();
    return own != nullptr ? own->bytes() : float_bytes * weight_count();
}

std::int64_t Structure::products() const {
    products_once_.call([this] { products_ = cambrian::products(Network(blueprint())); });
    return products_;
}

Individual::Individual(Genome genome) : weights(std::move(genome.weights)) {
    structure = std::make_shared<const Structure>(std::move(genome));
}

Individuals::Individuals(std::span<const Genome* const> genomes) {
    all.reserve(genomes.size());
    for (const Genome* genome : genomes) {
        pointers.push_back(&all.emplace_back(*genome));
    }
}

Individual copy_to_host(const Individual& individual, Backend& backend) {
    Individual home;
    home.structure = individual.structure;
    home.weights = individual.weights;
    if (!individual.on_host()) {
        home.weights.resize(static_cast<std::size_t>(individual.structure->weight_count()));
        const Binding& place = individual.row->place();
        backend.download(*place.buffer, place.first, std::span<float>(home.weights));
    }
    return home;
}

Genome genome_of(const Individual& individual) {
    CAMBRIAN_EXPECT(individual.on_host());
    Genome genome = individual.structure->genome();
    genome.weights = individual.weights;
    return genome;
}

}  // namespace cambrian::evolve
