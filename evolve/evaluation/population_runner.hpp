#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/evaluation/genome_groups.hpp"
#include "cambrian/evolve/evaluation/operand_stage.hpp"
#include "cambrian/evolve/evaluation/program_cache.hpp"
#include "cambrian/evolve/genome/structure.hpp"

namespace cambrian::evolve {

/// Numbers that every network has for itself: [networks, elements] in the order of the individuals.
struct OwnInput {
    std::int64_t elements = 0;
    std::span<const float> values;
};

/// What to compute for every network: a graph of its operands and of inputs that all share.
struct PopulationRequest {
    std::int64_t variant = 0;  ///< Requests with equal variants build equal graphs.
    BuildOutputs build;
    std::span<const OwnInput> own{};  ///< The inputs that `build` adds first.
    std::span<const Binding> shared;
    /// Done once while the backend computes.
    const std::function<void()>* meanwhile = nullptr;
};

/// One output for every network, in the order of the individuals.
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
    /// @param threads that take individuals apart, the caller included.
    PopulationRunner(Backend& backend, Family family, WeightUse use = WeightUse::evaluated);

    /// The result stays valid until the next run.
    [[nodiscard]] const std::vector<PopulationOutput>& run(
        std::span<const Individual* const> individuals, const PopulationRequest& request);

    [[nodiscard]] ThreadPool& threads() { return backend_.threads(); }
    [[nodiscard]] std::uint64_t programs_compiled() const { return compiled_; }
    [[nodiscard]] std::uint64_t programs_reused() const { return reused_; }
    /// Times that networks had to wait for others because memory did not hold all at once.
    [[nodiscard]] std::uint64_t memory_splits() const { return splits_; }

  private:
    StructureProgram& program_for(const Individual& individual, const GenomeStructure& structure,
                                  const PopulationRequest& request);
    void prepare_outputs(const StructureProgram& program, std::size_t networks);
    [[nodiscard]] std::size_t wave_end(std::span<const Individual* const> individuals,
                                       std::size_t begin, std::span<const OwnInput> own) const;
    void upload_own(std::span<const OwnInput> own, std::size_t begin, std::size_t end);
    void run_wave(std::span<const Individual* const> individuals, std::size_t begin,
                  std::size_t end, const PopulationRequest& request);
    void check_group(const StructureProgram& program,
                     std::span<const Individual* const> individuals, std::size_t begin,
                     std::size_t end) const;
    void run_group(StructureProgram& program, std::size_t wave, std::size_t begin, std::size_t end,
                   const PopulationRequest& request);
    void collect(std::size_t begin, std::size_t end);

    Backend& backend_;
    WeightUse use_;
    ProgramCache cache_;
    OperandStage stage_;
    GenomeGroups groups_;
    std::uint64_t compiled_ = 0;
    std::uint64_t reused_ = 0;
    std::uint64_t splits_ = 0;
    std::vector<float> reals_;
    std::vector<std::int32_t> integers_;
    std::vector<Binding> inputs_;
    std::vector<Binding> bound_outputs_;
    std::vector<GrowingBuffer> own_buffers_;
    std::vector<GrowingBuffer> output_buffers_;
    std::vector<PopulationOutput> outputs_;
};

}  // namespace cambrian::evolve
