#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cambrian/distributed/experiment.hpp"
#include "cambrian/distributed/generation/follower.hpp"
#include "cambrian/distributed/generation/genome_pool.hpp"
#include "cambrian/distributed/generation/round.hpp"
#include "cambrian/distributed/generation/shard_scores.hpp"
#include "cambrian/distributed/worker/part_choice.hpp"
#include "cambrian/engine/core/task_thread.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/evaluation/backend_children.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/evaluation/learner.hpp"
#include "cambrian/evolve/variation/variation.hpp"

namespace cambrian::distributed {

/// A child that was made elsewhere.
struct ReadyChild {
    SharedIndividual genome;
    std::uint32_t retries = 0;
    evolve::BirthId origin = 0;  ///< The birth that made its genome, where there is no round.
};

/// A shard ready to be worked on.
struct Job {
    std::uint64_t shard = 0;
    evolve::EvaluationRound evaluation;
    SharedRound round;  ///< Of its births; null where all there is are children.
    OrderRange births;
    std::shared_ptr<const PoolGenomes> parents;  ///< Of the round.
    std::vector<ReadyChild> children;  ///< One for each birth, or none: they are made here.
    /// What nobody needs any more: let go while a device computes.
    std::shared_ptr<const void> retired = nullptr;
    std::uint64_t generation = 0;  ///< Whose task judges, where there is no round.

    [[nodiscard]] std::size_t size() const { return round ? births.size() : children.size(); }
};

/// What became of a job: scores and genomes in the order of its births, or what it threw.
struct JobResult {
    std::uint64_t shard = 0;
    SharedRound round;
    OrderRange births;
    ShardScores scores;
    std::vector<SharedIndividual> genomes;
    bool made_on_backend = false;  ///< What can be made there, as most of their parents lie there.
    ShardCost cost;
    double remaking = 0.0;   ///< Seconds before it in which parents were made once more,
    std::size_t remade = 0;  ///< and how many.
    std::exception_ptr failure;
};

/// Whether the weights of children may stay on the backend that made them: not where the
/// coordinator makes all children, to send them out, nor where individuals learn, nor where their
/// networks develop.
[[nodiscard]] bool weights_may_stay(const Experiment& experiment, int ranks);

/// Makes children, on the threads of the experiment, and evaluates them. One caller at a time.
/// Outlives the genomes it makes.
class ShardEvaluator {
  public:
    /// @param weights_stay see weights_may_stay().
    ShardEvaluator(Backend& backend, const Experiment& experiment, bool weights_stay);

    /// Never throws what an evaluation throws: that is JobResult::failure.
    [[nodiscard]] JobResult work(Job& job);
    /// Makes parents of a round once more, where the weights of their own parents lie; later jobs
    /// of that round find them. For the thread that works. Returns none where that fails, and all
    /// of those jobs fail with what was thrown.
    [[nodiscard]] std::vector<SharedIndividual> remake(const SharedRound& round,
                                                       const Remakes& remakes);
    /// Whether weights of children may lie on the backend.
    [[nodiscard]] bool makes_on_backend() const { return on_backend_ != nullptr; }
    /// The same genome with its weights on the host. For the thread that works.
    [[nodiscard]] SharedIndividual on_host(const SharedIndividual& genome) const;
    /// They become what they have learned in a generation, where individuals learn. For the thread
    /// that works.
    void teach(std::vector<SharedIndividual>& genomes, std::uint64_t generation);
    /// Where the memory of its children comes from and goes to.
    [[nodiscard]] GenomePool& genomes() { return genomes_; }
    [[nodiscard]] const evolve::Variation& variation() const { return variation_; }

  private:
    /// Has the task of a generation judge and teach from here on; what another one needed is freed.
    void begin_task(std::uint64_t generation);
    /// Children of a few births, which a thread makes.
    void make_block(const Job& job, OrderRange indices, evolve::ChildPlan& plan, JobResult& result,
                    std::vector<std::uint32_t>& retries);
    /// What became of the births of a job, in their order.
    struct Lives {
        std::vector<std::uint32_t> retries;
        std::vector<evolve::Evaluation> evaluations;
        /// As they were born, where others were evaluated and they are what is inherited; else
        /// none.
        std::vector<SharedIndividual> born;
    };
    /// Makes the births of a job, has them learn or develop, and evaluates them.
    [[nodiscard]] Lives live(Job& job, JobResult& result);
    /// The same, in parts: an asynchronous backend evaluates one while the host makes the next.
    void live_in_parts(Job& job, JobResult& result, Lives& lives, std::size_t parts);
    /// Whether parts of a job would run beside each other.
    [[nodiscard]] bool may_be_split() const;
    /// Makes all births of a job where most have parents that belong on the backend, and some can
    /// be made there, and says so; what cannot is made on the host.
    [[nodiscard]] bool make_on_backend(Job& job, JobResult& result,
                                       std::vector<std::uint32_t>& retries);
    /// Makes births on the host, on all threads, each with its number.
    void make_each(std::span<const evolve::Birth> births,
                   const std::shared_ptr<const PoolGenomes>& parents,
                   const std::function<void(std::size_t, Child)>& take);
    /// Children whose weights lie on the backend; none where it makes none of them.
    struct BackendBirths {
        std::vector<SharedIndividual> children;  ///< Null where the host is to make one.
        std::vector<std::uint32_t> retries;
        bool short_of_memory = false;
    };
    /// Adds a birth with its parents where all of them belong on the backend, and says so.
    [[nodiscard]] bool resolve(const evolve::Birth& birth, const PoolGenomes& genomes,
                               std::vector<evolve::BackendChildren::ResolvedBirth>& births) const;
    [[nodiscard]] BackendBirths make_rows(
        std::span<const evolve::BackendChildren::ResolvedBirth> births);
    [[nodiscard]] std::vector<SharedIndividual> make_once_more(const Remakes& remakes);
    /// The parents of a job with those that were made once more.
    void take_remade(Job& job);
    /// @param job with parents on the host.
    void make_on_host(const Job& job, OrderRange indices, JobResult& result,
                      std::vector<std::uint32_t>& retries);
    [[nodiscard]] Job with_parents_on_host(const Job& job) const;
    /// A list in which the parents of births have their weights on the host.
    [[nodiscard]] std::shared_ptr<const PoolGenomes> on_host(
        const std::shared_ptr<const PoolGenomes>& genomes,
        std::span<const evolve::Birth> births) const;
    void score(const Job& job, std::span<const evolve::Evaluation> evaluations,
               JobResult& result) const;
    /// Genotypes give way to the networks that develop from them. Returns the genotypes; nothing
    /// where genomes are networks themselves.
    [[nodiscard]] std::vector<SharedIndividual> develop(JobResult& result);
    /// Who learns before the evaluation does so. Returns the genomes as they were born, where their
    /// children inherit these; else nothing.
    [[nodiscard]] std::vector<SharedIndividual> learn(const Job& job, JobResult& result);
    /// How many genes the births have, see Scores::complexity.
    void count_genes(const Job& job, JobResult& result) const;
    /// Which species the valid births are of, see Scores::species.
    void match_species(const Job& job, JobResult& result) const;
    /// The births that made the genomes of a job; none where its task does not ask.
    [[nodiscard]] std::vector<evolve::BirthId> origins_of(const Job& job) const;
    /// By the rank's backend; where that one has no memory for a single genome, by the fallback.
    /// Throws OutOfMemoryError when there is none.
    [[nodiscard]] std::vector<evolve::Evaluation> evaluations(Job& job, JobResult& result);
    /// Frees what nobody needs any more beside what follows, where a rank has threads for that.
    void release(std::shared_ptr<const void>&& retired);
    void await_releases();
    /// Frees what weights take on the backend. Returns whether there were any.
    [[nodiscard]] bool move_to_host(Job& job, JobResult& result);

    /// Where a rank evaluates what its own backend has no memory for.
    struct Fallback {
        std::unique_ptr<Backend> backend;
        std::unique_ptr<evolve::Evaluator> evaluator;
        std::unique_ptr<evolve::Learner> learner;  ///< Null where nobody learns.
    };
    /// For what the rank's backend gave up. Made where it is missing.
    [[nodiscard]] Fallback& fallback();
    Backend& backend_;
    const Experiment& experiment_;
    GenomePool genomes_;
    evolve::Variation variation_;
    std::unique_ptr<evolve::BackendChildren> on_backend_;  ///< Null where none are made there.
    std::function<Fallback()> make_fallback_;              ///< Null: there is none.
    Fallback fallback_;                                    ///< Made when it is needed first.
    const evolve::Task* task_ = nullptr;                   ///< What the next two are for.
    std::unique_ptr<evolve::Learner> learner_;             ///< Null where nobody learns.
    std::unique_ptr<evolve::Evaluator> evaluator_;
    PartChoice part_choice_;
    /// What was made once more for a round that jobs may be of, by place in its parent pool.
    struct Remade {
        std::weak_ptr<const Round> round;
        std::uint64_t generation = 0;
        PoolGenomes genomes;
        std::exception_ptr failure;
    };
    std::vector<Remade> remade_;
    std::uint64_t taught_by_fallback_ = 0;  ///< Shards, not yet told.
    std::uint64_t short_of_memory_ = 0;  ///< Times that there was none for what was made once more.
    std::vector<evolve::Evaluation> evaluations_;  ///< Of the last shard, for their memory.
    bool details_;  ///< Whether somebody wants the columns of BirthDetails.
    ThreadPool& threads_;
    /// Of genomes, which lie in what stands above. Null where a rank has one thread.
    std::unique_ptr<TaskThread> releases_;
};

[[nodiscard]] std::vector<const evolve::Individual*> pointers_to(
    std::span<const SharedIndividual> genomes);

/// Text of what a job threw.
[[nodiscard]] std::string describe(const std::exception_ptr& failure);
/// Whether a job threw because this rank is of no more use: its device is lost, or has no memory
/// for a single birth, or its task cannot be trusted.
[[nodiscard]] bool rank_lost(const std::exception_ptr& failure);

}  // namespace cambrian::distributed
