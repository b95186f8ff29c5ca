#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/evolve/genome.hpp"
#include "cambrian/evolve/program_cache.hpp"
#include "cambrian/evolve/structure_reader.hpp"

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
    using Build = std::function<std::vector<Var>(Graph& graph, const Network& network,
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

/// Runs many networks at once: groups them by structure, compiles one program for each structure
/// and runs each group in as few calls as memory allows. A network's results do not depend on the
/// others. Outputs must have the same sizes for every structure.
class PopulationRunner {
  public:
    explicit PopulationRunner(Backend& backend);

    /// The result stays valid until the next run.
    [[nodiscard]] const std::vector<PopulationOutput>& run(std::span<const Genome* const> genomes,
                                                           const PopulationRequest& request);

    [[nodiscard]] std::uint64_t programs_compiled() const { return compiled_; }
    [[nodiscard]] std::uint64_t programs_reused() const { return reused_; }

  private:
    /// Networks of one structure: order_[begin, end).
    struct Group {
        Hash128 structure;
        std::size_t count = 0;
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    /// Where the operands of one network begin.
    struct Place {
        std::int64_t weights = 0;
        std::int64_t activations = 0;
        std::int64_t enabled = 0;
    };

    void read_structures(std::span<const Genome* const> genomes);
    void find_groups();
    StructureProgram& program_for(const Genome& genome, Hash128 structure,
                                  const PopulationRequest& request);
    StructureProgram compile(const Genome& genome, const PopulationRequest& request);
    void prepare_outputs(const StructureProgram& program, std::size_t networks);
    [[nodiscard]] std::size_t wave_end(std::span<const Genome* const> genomes,
                                       std::size_t begin) const;
    void upload_operands(std::span<const Genome* const> genomes, std::size_t begin,
                         std::size_t end);
    void run_wave(std::span<const Genome* const> genomes, std::size_t begin, std::size_t end,
                  const PopulationRequest& request);
    void run_group(StructureProgram& program, std::span<const Genome* const> genomes,
                   std::size_t wave, std::size_t begin, std::size_t end,
                   std::span<const Binding> shared);
    void collect(std::size_t begin, std::size_t end);

    Backend& backend_;
    ProgramCache cache_;
    StructureReader reader_;
    std::uint64_t compiled_ = 0;
    std::uint64_t reused_ = 0;

    std::vector<Hash128> structures_;      ///< Of every genome.
    std::vector<Place> read_;              ///< Of every genome's operands in the reader.
    std::vector<std::uint32_t> group_of_;  ///< Of every genome.
    std::vector<std::uint32_t> buckets_;   ///< Hash table of groups.
    std::vector<Group> groups_;
    std::vector<std::uint32_t> order_;  ///< Genomes, group after group.
    std::vector<Place> places_;         ///< Of every position of a wave in the buffers.
    std::vector<std::int32_t> activations_;
    std::vector<std::int32_t> enabled_;
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
