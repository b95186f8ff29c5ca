#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/network/observe/observation.hpp"
#include "cambrian/evolve/evaluation/family.hpp"
#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::evolve {

/// Which numbers an evaluation uses.
struct EvaluationRound {
    Phase phase = Phase::train;
    std::uint64_t round = 0;  ///< Generation, or the running number of a validation.
    bool operator==(const EvaluationRound&) const = default;
};

struct Evaluation {
    Status status = Status::ok;
    double fitness = worst_fitness;
    std::vector<double> per_sample;
    std::uint64_t env_steps = 0;
};

/// Turns genomes into fitness: compiles the task's objective with a population axis, for each
/// structure or once for all (see Family), keeps the programs in a bounded cache, and runs each
/// group of individuals at once. What is in the batch never changes a fitness. One thread at a
/// time.
class Evaluator {
  public:
    /// @param family how networks become programs; the same on every rank of a run.
    Evaluator(Backend& backend, const Task& task, std::uint64_t seed,
              Family family = Family::graph);
    ~Evaluator();
    Evaluator(const Evaluator&) = delete;
    Evaluator& operator=(const Evaluator&) = delete;

    /// In the order of the individuals. Where memory runs out they are evaluated in halves, which
    /// changes no fitness. Throws what the task or the backend throws, OutOfMemoryError where there
    /// is no memory for one of them.
    [[nodiscard]] std::vector<Evaluation> evaluate(std::span<const Individual* const> individuals,
                                                   const EvaluationRound& round) {
        return evaluate(individuals, round, {});
    }
    struct Options {
        bool samples = true;  ///< Whether Evaluation::per_sample is wanted.
        /// Done while a device computes, once, or twice where memory runs out; or never.
        const std::function<void()>* meanwhile = nullptr;
        /// Of the individuals, for tasks that run on the host, see Population::origin; or none.
        std::span<const BirthId> origins{};
    };
    [[nodiscard]] std::vector<Evaluation> evaluate(std::span<const Individual* const> individuals,
                                                   const EvaluationRound& round,
                                                   const Options& options);
    /// The same in two steps, of a task whose objective is a graph: an asynchronous backend
    /// computes between them, beside what the caller does and other flights (see
    /// PopulationRunner). Throws OutOfMemoryError instead of halving.
    /// @param flight below `of`, which is how many are in use by turns: flights() at most.
    void start(std::size_t flight, std::size_t of, std::span<const Individual* const> individuals,
               const EvaluationRound& round, const Options& options);
    [[nodiscard]] std::size_t flights() const;
    /// Gives back what flights but the first hold; → whether there was any.
    bool forget_flights();
    /// @param evaluations one for each individual that was started.
    void finish(std::size_t flight, std::span<Evaluation> evaluations);
    /// The same for genomes by themselves.
    [[nodiscard]] std::vector<Evaluation> evaluate(std::span<const Genome* const> genomes,
                                                   const EvaluationRound& round);

    struct Counters {
        std::uint64_t programs_compiled = 0;
        std::uint64_t programs_reused = 0;
        std::uint64_t memory_splits = 0;  ///< Waits of networks for others that filled the memory.
    };
    [[nodiscard]] Counters counters() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Runs one network on rows [batch, observations] (time = false) or [batch, time, observations]; →
/// outputs.
[[nodiscard]] std::vector<float> infer(Backend& backend, const Genome& genome,
                                       std::span<const float> inputs, std::int64_t batch,
                                       std::int64_t time);

/// The share of right answers of one network; nothing where the task does not tell right from
/// wrong.
[[nodiscard]] std::optional<double> accuracy(Backend& backend, const Task& task,
                                             const Genome& genome, std::uint64_t seed,
                                             const EvaluationRound& round);

/// What the slots of one network give over rows, as `infer` runs them (evaluator.hpp): one
/// observation for each slot and the head.
[[nodiscard]] std::vector<Observation> observe(Backend& backend, const Genome& genome,
                                               std::span<const float> inputs, std::int64_t batch,
                                               std::int64_t time);

}  // namespace cambrian::evolve
