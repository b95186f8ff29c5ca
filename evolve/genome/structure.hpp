#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/once.hpp"
#include "cambrian/engine/core/prefetch.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/network/packed_weights.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/evolve/genome/genome.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/genome/history.hpp"
#include "cambrian/evolve/genome/weight_rows.hpp"

namespace cambrian::evolve {

/// One activation gene: the `index`-th of a slot's layer, depth first.
struct ActivationGene {
    int slot = 0;
    std::size_t index = 0;
};

/// Activation genes of the filled slots. The head's are not listed: they belong to the task.
[[nodiscard]] std::vector<ActivationGene> activation_genes(const Blueprint& blueprint);
[[nodiscard]] std::vector<int> filled_slots(const Blueprint& blueprint);
/// The last filled slot whose layer reads ids (slots(): the head), or -1. What comes before it must
/// go on giving ids, and nothing can be added to them.
[[nodiscard]] int last_reader_of_ids(const Blueprint& blueprint);
[[nodiscard]] std::vector<int> togglable_slots(const Blueprint& blueprint);

/// Blueprint and genes, which most children share with a parent, and what is worked out of them
/// once for all who share them. Never changes; for any thread.
class Structure {
  public:
    /// What the program of a graph is chosen by, and what it reads of the structure.
    struct GraphForm {
        Hash128 hash;  ///< Of what must be equal for one program; of this process only.
        std::vector<std::int32_t> activations;
        std::vector<std::int32_t> enabled;
    };
    /// The structure as data for an interpreter.
    struct BytecodeForm {
        std::vector<std::int32_t> words;
        std::vector<BytecodePacking> packings;
        BytecodeCapacity capacity;
        Hash128 hash;            ///< Of the words: networks with equal ones run exactly alike.
        std::uint64_t path = 0;  ///< Of the first instructions, op and activation.
    };

    /// Of a genome, whose weights are dropped.
    explicit Structure(Genome genome);

    /// Without weights.
    [[nodiscard]] const Genome& genome() const { return genome_; }
    [[nodiscard]] const Blueprint& blueprint() const { return genome_.blueprint; }
    /// In the order of the weight vector.
    [[nodiscard]] const std::vector<GeneWeights>& genes() const { return genes_; }
    [[nodiscard]] std::int64_t weight_count() const;
    [[nodiscard]] const Gene& gene(const GeneWeights& gene) const { return gene_at(genome_, gene); }

    [[nodiscard]] const std::vector<ActivationGene>& activation_genes() const {
        return activation_genes_;
    }
    [[nodiscard]] const std::vector<int>& filled_slots() const { return filled_slots_; }
    [[nodiscard]] const std::vector<int>& togglable_slots() const { return togglable_slots_; }

    /// Its genes in the order of their ids.
    [[nodiscard]] const History& history() const;
    [[nodiscard]] const GraphForm& graph() const;
    /// Null where the structure has no such form.
    [[nodiscard]] const BytecodeForm* bytecode() const;
    /// Brings what bytecode() reads near.
    void prefetch_bytecode() const {
        prefetch(&bytecode_once_, sizeof(bytecode_once_));
        prefetch(&bytecode_, sizeof(bytecode_));
    }
    /// Null where all weights are evaluated as they are, in float32.
    [[nodiscard]] const WeightFormats* formats() const;
    /// What a graph reads of them; null where formats() is.
    [[nodiscard]] const PackedWeights* packed() const;
    /// Of its weights in their formats.
    [[nodiscard]] std::int64_t stored_bytes() const;
    /// Multiplications of one evaluation, see cambrian::products.
    [[nodiscard]] std::int64_t products() const;

    bool operator==(const Structure& other) const { return genome_ == other.genome_; }

  private:
    Genome genome_;
    std::vector<GeneWeights> genes_;
    std::vector<ActivationGene> activation_genes_;
    std::vector<int> filled_slots_;
    std::vector<int> togglable_slots_;
    mutable Once history_once_;
    mutable Once graph_once_;
    mutable Once bytecode_once_;
    mutable Once formats_once_;
    mutable Once products_once_;
    mutable History history_;
    mutable GraphForm graph_;
    mutable std::optional<BytecodeForm> bytecode_;
    mutable std::optional<WeightFormats> formats_;
    mutable std::optional<PackedWeights> packed_;
    mutable std::int64_t products_ = 0;
};

using SharedStructure = std::shared_ptr<const Structure>;

/// A member of a population: a genome whose structure others may share. Its weights are on the
/// host, on a backend, or on both.
struct Individual {
    SharedStructure structure;
    std::vector<float> weights;  ///< Empty where they are on a backend alone.
    SharedRow row;               ///< Null where they are on the host alone.

    Individual() = default;
    /// With a structure of its own.
    explicit Individual(Genome genome);
    [[nodiscard]] const Blueprint& blueprint() const { return structure->blueprint(); }
    /// Whether its weights are on the host.
    [[nodiscard]] bool on_host() const { return !row || !weights.empty(); }
    /// Of two individuals whose weights are on the host.
    bool operator==(const Individual& other) const {
        return weights == other.weights &&
               (structure == other.structure || *structure == *other.structure);
    }
};

/// The same individual with its weights on the host alone. For the thread of their backend.
[[nodiscard]] Individual copy_to_host(const Individual& individual, Backend& backend);

/// Genomes as individuals with structures of their own, and pointers to them.
struct Individuals {
    explicit Individuals(std::span<const Genome* const> genomes);
    std::vector<Individual> all;
    std::vector<const Individual*> pointers;
};

/// The individual as a genome of its own. Contract: its weights are on the host.
[[nodiscard]] Genome genome_of(const Individual& individual);

/// The bytes of its genome.
[[nodiscard]] std::vector<std::byte> encode(const Individual& individual);

/// The bytes of a structure, for messages in which many genomes have the same one, and back: both
/// throw InputError naming `source`, of bytes that are no structure and of weights that are not
/// its.
[[nodiscard]] std::vector<std::byte> encode(const Structure& structure);
[[nodiscard]] SharedStructure decode_structure(std::span<const std::byte> bytes,
                                               std::string_view source);
[[nodiscard]] Individual individual_of(SharedStructure structure, std::vector<float> weights,
                                       std::string_view source);

}  // namespace cambrian::evolve
