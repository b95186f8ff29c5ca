#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
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
    /// Populations that may be on a backend at once.
    static constexpr std::size_t max_flights = 4;

    /// @param threads that take individuals apart, the caller included.
    PopulationRunner(Backend& backend, Family family, WeightUse use = WeightUse::evaluated);

    /// The result stays valid until the next run.
    [[nodiscard]] const std::vector<PopulationOutput>& run(
        std::span<const Individual* const> individuals, const PopulationRequest& request) {
        start(0, 1, individuals, request);
        return finish(0);
    }
    /// How many populations may be started before the first is finished: one on each queue of the
    /// backend, or one that it computes and one that comes next; fewer where memory is short.
    [[nodiscard]] std::size_t flights() const;
    /// Gives back what flights but the first hold; → whether there was any.
    bool forget_flights();
    /// Begins what finish ends. An asynchronous backend computes meanwhile, and other flights may
    /// start. A flight that throws, or is never finished, starts afresh.
    /// @param flight below `of`, which is how many are in use by turns: flights() at most.
    void start(std::size_t flight, std::size_t of, std::span<const Individual* const> individuals,
               const PopulationRequest& request);
    /// The result stays valid until the flight starts again.
    [[nodiscard]] const std::vector<PopulationOutput>& finish(std::size_t flight);

    [[nodiscard]] ThreadPool& threads() { return backend_.threads(); }
    [[nodiscard]] std::uint64_t programs_compiled() const { return compiled_; }
    [[nodiscard]] std::uint64_t programs_reused() const { return reused_; }
    /// Times that networks had to wait for others because memory did not hold all at once.
    [[nodiscard]] std::uint64_t memory_splits() const { return splits_; }

  private:
    /// A population on its way.
    struct Flight {
        GenomeGroups groups;
        OperandBuffers operands;
        std::vector<PopulationOutput> outputs;
        std::vector<GrowingBuffer> buffers;  ///< Of the outputs of a wave,
        std::size_t begin = 0;               ///< and its positions.
        std::size_t end = 0;
    };

    StructureProgram& program_for(const Individual& individual, const GenomeStructure& structure,
                                  const PopulationRequest& request);
    static void prepare_outputs(Flight& flight, const StructureProgram& program,
                                std::size_t networks);
    [[nodiscard]] std::size_t wave_end(const Flight& flight,
                                       std::span<const Individual* const> individuals,
                                       std::span<const OwnInput> own) const;
    /// Words that the operands of a wave may take: what all flights in use have, divided by them.
    [[nodiscard]] std::int64_t max_operand_words() const;
    void use_queue_of(std::size_t number);
    void upload_own(const Flight& flight, std::span<const OwnInput> own);
    void run_wave(Flight& flight, std::span<const Individual* const> individuals,
                  const PopulationRequest& request);
    void run_group(const Flight& flight, StructureProgram& program, std::size_t begin,
                   std::size_t end, const PopulationRequest& request);
    void collect(Flight& flight);

    Backend& backend_;
    WeightUse use_;
    ProgramCache cache_;
    OperandStage stage_;
    std::array<Flight, max_flights> flights_;
    std::size_t flights_in_use_ = 1;
    std::uint64_t compiled_ = 0;
    std::uint64_t reused_ = 0;
    std::uint64_t splits_ = 0;
    std::vector<float> reals_;
    std::vector<std::int32_t> integers_;
    std::vector<Binding> inputs_;
    std::vector<Binding> bound_outputs_;
    std::vector<GrowingBuffer> own_buffers_;
};

/// The results of `count` things from `first` on, in a list: those of action(first, count), or,
/// where that finds no memory, those of its halves, one after the other. Calls halved() for each
/// time. Throws OutOfMemoryError where there is no memory for one of them.
template <class Action, class Halved>
auto in_halves(std::size_t first, std::size_t count, const Action& action, const Halved& halved) {
    try {
        return action(first, count);
    } catch (const OutOfMemoryError&) {
        if (count == 1) throw;
    }
    halved();
    const std::size_t half = count / 2;
    auto all = in_halves(first, half, action, halved);
    std::ranges::move(in_halves(first + half, count - half, action, halved),
                      std::back_inserter(all));
    return all;
}

}  // namespace cambrian::evolve
