#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/experiment.hpp"
#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

/// Tests of networks that may solve the task, see evolve::SolvedTest. They are no evaluations: a
/// run counts them apart.
struct ChampionTests {
    std::uint64_t count = 0;     ///< So far.
    evolve::BirthId origin = 0;  ///< Of the network tested last: the birth that made its genome.
    bool passed = false;         ///< By the best of this generation.
};

/// How many species a generation has, and how evenly its births are divided among them: of the
/// size of each, 1 / Σ (share of all)², which is the number of species where all are equal.
struct SpeciesDiversity {
    std::uint64_t count = 0;
    double effective = 0.0;
    bool operator==(const SpeciesDiversity&) const = default;
};

/// The mean complexity of a generation's children, and how many islands (of one, 0 or 1) have some
/// that lose genes.
struct ComplexityReport {
    double mean = 0.0;
    std::uint64_t simplifying = 0;
    bool operator==(const ComplexityReport&) const = default;
};

/// One line of generations.csv, and what a console shows of it.
struct GenerationReport {
    std::uint64_t generation = 0;
    std::uint64_t evaluations = 0;  ///< So far in the run.
    double best = 0.0;
    double mean = 0.0;  ///< Over valid outcomes.
    double worst = 0.0;
    std::optional<double> validated;  ///< Champion on fresh data, in generations that validate.
    std::uint64_t parameters = 0;     ///< Of the best.
    std::uint64_t env_steps = 0;      ///< So far.
    std::uint64_t retries = 0;        ///< In this generation.
    std::uint64_t invalid = 0;        ///< In this generation: non-finite or failed.
    std::optional<SpeciesDiversity> species;     ///< Where the strategy has species.
    std::optional<ComplexityReport> complexity;  ///< Where it is regulated.
    /// Of the weights of the best as they are stored; where number formats are in use.
    std::optional<std::uint64_t> bytes;
    /// Multiplications of one evaluation of the best; where they have a price.
    std::optional<std::uint64_t> products;
    /// How many changes of the task came before; where it changes. Follows from the generation, so
    /// no checkpoint notes it.
    std::optional<std::uint64_t> task;
    /// Births of whole generations up to this one, one after another, whose evaluation failed. Not
    /// in generations.csv.
    std::uint64_t failed_in_a_row = 0;
    ChampionTests tests;  ///< Not in generations.csv, but in checkpoints. Kept where nobody asks.
    // Not in generations.csv: timings differ from run to run.
    double seconds = 0.0;  ///< Of this generation.
    double evaluate_seconds = 0.0;
    double vary_seconds = 0.0;
    double wait_seconds = 0.0;
    double decide_seconds = 0.0;   ///< Of the strategy: worked by the coordinator's thread.
    double elapsed_seconds = 0.0;  ///< Of the run, over all resumes.
};

/// What stop.fitness is compared with after a generation; worst_fitness: nothing reaches it.
/// @param validates whether the task does.
[[nodiscard]] double compared_fitness(FitnessOf of, bool validates, const GenerationReport& report);

/// Told about progress on rank 0.
class Reporter {
  public:
    virtual ~Reporter() = default;
    virtual void started(const Experiment& experiment, const std::vector<std::string>& rank_lines,
                         std::uint64_t generation) = 0;
    virtual void progressed(std::uint64_t generation, std::uint64_t done, std::uint64_t total) = 0;
    virtual void generation_done(const GenerationReport& report) = 0;
    virtual void warning(const std::string& text) = 0;
};

enum class StopReason : std::uint8_t {
    generations,
    fitness,
    solved,
    evaluations,
    seconds,
    interrupted,
    extinction  ///< See species.extinction.
};
[[nodiscard]] std::string_view name(StopReason reason);

struct RunResult {
    StopReason reason = StopReason::generations;
    GenerationReport last;
    std::optional<double> best_fitness;  ///< Absent: no individual had a valid one.
    double best_price = 0.0;             ///< What that one has lost for its size, see price_of().
    std::uint64_t best_parameters = 0;   ///< Weights of that network; 0: as above.
    std::optional<double> best_validated;
    std::optional<double> best_tested;  ///< Where the task has a test phase.
    /// Whether the test of the task is passed, where run.stop.solved asks for it; else whether
    /// run.stop.fitness is reached, where it is given.
    std::optional<bool> solved;
};

enum class Start : std::uint8_t {
    fresh,    ///< The run directory must not hold what a run left.
    proceed,  ///< Continue from the newest sound checkpoint, or start where there is none (evolve
              ///< --continue).
    resume,   ///< A checkpoint must exist.
};

/// Who coordinates a run, and since when: every takeover begins an epoch.
struct Reign {
    std::uint64_t epoch = 0;
    int rank = 0;
    std::vector<int> dead{};  ///< Who coordinated before, since the job has begun.
    /// The epoch in which the job has begun: every job in a directory has another one.
    [[nodiscard]] std::uint64_t job() const { return epoch - dead.size(); }
    bool operator==(const Reign&) const = default;
};

struct LocalCompute;
/// A rank's turn to coordinate.
struct Turn {
    Reign reign{};
    /// What it computed with before, where a birth that nobody wants any more may still run; null:
    /// it did not.
    std::shared_ptr<LocalCompute> compute = nullptr;
};

/// Runs the experiment on the rank that coordinates: strategy, shards, leases, journal,
/// checkpoints, run directory; evaluates shards too, on a thread of its own. `interrupt` becomes
/// non-zero when a signal asks to end. Throws ConfigError, InputError or DeviceError; whatever
/// happens, what was committed stays.
[[nodiscard]] RunResult run_coordinator(Communicator& communicator, Backend& backend,
                                        const Experiment& experiment, Start start,
                                        Reporter& reporter, const std::atomic<int>& interrupt,
                                        const Turn& turn = {});

/// The coordinator has been silent for so long that it must be dead.
class CoordinatorLost : public Error {
  public:
    CoordinatorLost(const std::string& text, std::optional<Reign> known, bool excluded,
                    std::exception_ptr why = nullptr)
        : Error(text), former(std::move(known)), lock_excludes(excluded), cause(std::move(why)) {}

    std::optional<Reign> former;  ///< Nothing where it never spoke.
    /// Whether this rank has seen the lock of the run directory held while that one, or one before
    /// it, lived. Some network file systems have locks of each host's own.
    bool lock_excludes;
    std::exception_ptr cause;  ///< Why no rank follows, where one was to; null for silence alone.
};

/// This rank coordinated, and another one does since: it was stopped, and its lock was lost. Or it
/// was about to follow a dead one, and another job has. The run goes on without it, so nothing is
/// written and nobody is told to stop.
class Deposed : public Error {
  public:
    using Error::Error;
};

/// Serves shards until told to stop, or until the coordinator has been silent for a lease (then
/// throws CoordinatorLost). Returns the number of individuals evaluated.
std::uint64_t run_worker(Communicator& communicator, Backend& backend, const Experiment& experiment,
                         const std::atomic<int>& interrupt);

struct WorkerLimits;
/// One rank of a run to its end, whatever becomes of the others: rank 0 coordinates first, and
/// where the coordinator dies, another rank does, from the journal. Throws CoordinatorLost where
/// the experiment wants no takeover, and where the lock of the run directory means nothing here and
/// nobody else has followed after the tries of all ranks and some seconds; Deposed where another
/// job goes on in the directory.
/// @param coordinate calls run_coordinator when it is this rank's turn.
void run_rank(Communicator& communicator, Backend& backend, const Experiment& experiment,
              Start start, const std::atomic<int>& interrupt, const WorkerLimits& limits,
              const std::function<void(Start start, const Turn& turn)>& coordinate);

}  // namespace cambrian::distributed
