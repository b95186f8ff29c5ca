#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/evolve/family.hpp"
#include "cambrian/evolve/genome.hpp"
#include "cambrian/evolve/program_cache.hpp"
#include "cambrian/evolve/structure_reader.hpp"
#include "cambrian/evolve/tape_shelf.hpp"

namespace cambrian::evolve {

/// A buffer that only grows, geometrically, so that steady work allocates nothing.
class GrowingBuffer {
  public:
    explicit GrowingBuffer(ValueType type) : type_(type) {}
    /// Room for that many elements; what it held is lost when it grows.
    Buffer& hold(Backend& backend, std::int64_t elements);
    [[nodiscard]] Buffer* get() const { return buffer_.get(); }
    [[nodiscard]] ValueType type() const { return type_; }

  private:
    ValueType type_;
    std::unique_ptr<Buffer> buffer_;
};

/// What to compute for every network: a graph of its operands and of inputs that all share.
struct PopulationRequest {
    using Build = std::function<std::vector<Var>(Graph& graph, const NetworkForm& network,
                                                 const NetworkOperands& operands)>;
    std::int64_t variant = 0;  ///< Requests with equal variants build equal graphs.
    Build build;               ///< Adds the shared inputs to the graph and returns the outputs.
    std::span<const Binding> shared;
};

/// One output for every network, in the order of the genomes.
struct PopulationOutput {
    ValueType type = ValueType::real;
    std::int64_t elements = 0;           ///< Of one network.
    std::vector<float> reals;            ///< [networks, elements] of a real output.
    std::vector<std::int32_t> integers;  ///< [networks, elements] of any other.
};

/// Runs many networks at once, in as few calls as memory allows. In the graph family it groups them
/// by structure and compiles one program for each; in the interpreted family one program serves
/// every network of a class of size, and equal structures only lie side by side. A network's
/// results do not depend on the others. Outputs must have the same sizes for every structure.
class PopulationRunner {
  public:
    PopulationRunner(Backend& backend, Family family);

    /// The result stays valid until the next run.
    [[nodiscard]] const std::vector<PopulationOutput>& run(std::span<const Genome* const> genomes,
                                                           const PopulationRequest& request);

    [[nodiscard]] std::uint64_t programs_compiled() const { return compiled_; }
    [[nodiscard]] std::uint64_t programs_reused() const { return reused_; }

  private:
    /// Networks of one structure: order_[begin, end).
    struct Group {
        Hash128 structure;
        std::size_t size_class = as_graphs;
        std::int64_t cost = 0;
        std::size_t count = 0;
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    /// Networks that share a program: order_[begin, end), graphs of one structure, or a class of
    /// interpreted ones.
    struct Range {
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    /// Where the operands of one network begin.
    struct Place {
        std::int64_t weights = 0;
        std::int64_t activations = 0;
        std::int64_t enabled = 0;
    };

    /// The class of size of networks that run as graphs; sorts behind the others.
    static constexpr std::size_t as_graphs = TapeShelf::class_count;

    void read_structures(std::span<const Genome* const> genomes);
    void read_graph(const Genome& genome);
    void find_groups();
    void order_groups();
    [[nodiscard]] const Group& group_at(std::size_t position) const {
        return groups_[group_of_[order_[position]]];
    }
    [[nodiscard]] Range range_at(std::size_t position) const;
    StructureProgram& program_for(const Genome& genome, const Group& group,
                                  const PopulationRequest& request);
    StructureProgram compile_graph(const Genome& genome, const PopulationRequest& request);
    StructureProgram compile_interpreter(const Genome& genome, const TapeCapacity& capacity,
                                         const PopulationRequest& request);
    void finish_program(const Graph& graph, std::span<const std::size_t> per_individual,
                        StructureProgram& result);
    void prepare_outputs(const StructureProgram& program, std::size_t networks);
    [[nodiscard]] std::int64_t operand_words(const Genome& genome, const Group& group) const;
    [[nodiscard]] std::size_t wave_end(std::span<const Genome* const> genomes,
                                       std::size_t begin) const;
    void upload_operands(std::span<const Genome* const> genomes, std::size_t begin,
                         std::size_t end);
    void place_graph(std::size_t index, std::int64_t weights);
    void place_tape(const Genome& genome, std::size_t index, const TapeCapacity& capacity,
                    std::int64_t weights);
    void run_wave(std::span<const Genome* const> genomes, std::size_t begin, std::size_t end,
                  const PopulationRequest& request);
    void run_group(StructureProgram& program, std::span<const Genome* const> genomes,
                   std::size_t wave, std::size_t begin, std::size_t end,
                   std::span<const Binding> shared);
    void collect(std::size_t begin, std::size_t end);

    Backend& backend_;
    Family family_;
    ProgramCache cache_;
    StructureReader reader_;
    TapeShelf shelf_;
    std::uint64_t compiled_ = 0;
    std::uint64_t reused_ = 0;

    /// What grouping needs to know of a genome.
    struct Structure {
        Hash128 hash;
        std::size_t size_class = as_graphs;
        std::int64_t cost = 0;
        std::size_t index = 0;  ///< Among the interpreted ones, or those read as graphs.
    };
    std::vector<Structure> structures_;    ///< Of every genome.
    std::vector<Place> read_;              ///< Of the operands of those read as graphs.
    std::vector<std::uint32_t> group_of_;  ///< Of every genome.
    std::vector<std::uint32_t> buckets_;   ///< Hash table of groups.
    std::vector<Group> groups_;
    std::vector<std::uint32_t> group_order_;
    std::array<Range, TapeShelf::class_count> class_ranges_;
    std::vector<std::uint32_t> order_;       ///< Genomes, group after group.
    std::vector<Place> places_;              ///< Of every position of a wave in the buffers.
    std::vector<std::int32_t> activations_;  ///< And tapes.
    std::vector<std::int32_t> enabled_;
    std::vector<float> packed_;  ///< Weights of the interpreted ones of a wave.
    std::vector<float> reals_;
    std::vector<std::int32_t> integers_;
    std::vector<Binding> inputs_;
    std::vector<Binding> bound_outputs_;

    GrowingBuffer weight_buffer_{ValueType::real};
    GrowingBuffer activation_buffer_{ValueType::integer};
    GrowingBuffer enabled_buffer_{ValueType::boolean};
    std::vector<GrowingBuffer> output_buffers_;
    std::vector<PopulationOutput> outputs_;
};

}  // namespace cambrian::evolve
