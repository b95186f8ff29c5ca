#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/experiment.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/tests/support/recording_reporter.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"

namespace cambrian::distributed {

using test::RecordingReporter;
using test::TemporaryDirectory;

/// What a founder of xor may be instead: 1.6 MB of weights.
[[nodiscard]] Blueprint wide_founder();

/// Small experiments with every mutation at work.
[[nodiscard]] Experiment xor_experiment(const std::filesystem::path& directory);
[[nodiscard]] Experiment cart_pole_experiment(const std::filesystem::path& directory);
/// Single neurons as genes, with connections that look back.
[[nodiscard]] Experiment neat_experiment(const std::filesystem::path& directory);
[[nodiscard]] Experiment callback_experiment(const std::filesystem::path& directory,
                                             std::shared_ptr<const evolve::Task> task);
/// Fitness from the network's answer to one row: higher sums are fitter.
/// @param sign -1: lower ones are.
[[nodiscard]] std::shared_ptr<const evolve::Task> sum_task(double sign = 1.0);
/// Throws for every shard that holds an individual with a positive answer to the row.
[[nodiscard]] std::shared_ptr<const evolve::Task> failing_task();
/// What is good in generations 0 to 2 is bad in 3 and 4, and good again in 5 to 7.
[[nodiscard]] Experiment changing_experiment(const std::filesystem::path& directory);
/// A generation without a new best is followed by founders. Validation gives the fitness once more,
/// and is due only at the end.
[[nodiscard]] Experiment restarting_experiment(const std::filesystem::path& directory);
/// Individuals learn.
/// @param stochastic mini-batches make it so: who is carried over is evaluated again.
[[nodiscard]] Experiment learning_experiment(evolve::LearningMode mode, bool stochastic = false);
/// cart_pole whose pushes change their direction, with validation.
[[nodiscard]] Experiment changing_cart_pole(const std::filesystem::path& directory);

/// Of births that all have a fitness: at each position this one.
[[nodiscard]] evolve::Scores valid_scores(
    std::uint64_t births, const std::function<double(std::uint64_t position)>& fitness);

/// How a test runs an experiment on ranks in one process.
struct Launch {
    int ranks = 1;
    int threads = 1;
    Start start = Start::fresh;
    std::function<void(RecordedNetwork&, const GenerationReport&)> on_generation{};
    std::atomic<int>* interrupt = nullptr;
    double remaking_share = 0.05;  ///< Of each worker, see WorkerLimits.
};

struct Launched {
    RunResult result;
    RecordingReporter reporter;
    std::vector<RecordedNetwork::Record> records;
    std::vector<std::string> worker_errors;
    std::uint64_t evaluated_by_workers = 0;
};

/// Rethrows what the coordinator throws, once all ranks have ended.
[[nodiscard]] Launched launch(const Experiment& experiment, const Launch& settings);

/// When a run in pieces is interrupted: during the evaluation of some generations, or as each ends.
enum class InterruptedAt : std::uint8_t { evaluation, end };
struct Pieces {
    int interrupts = 0;
    RunResult last;
};
/// Runs to the end with an interrupt in one generation after another, each time on another number
/// of ranks.
[[nodiscard]] Pieces run_in_pieces(Experiment experiment, std::uint32_t seed,
                                   InterruptedAt at = InterruptedAt::evaluation);

[[nodiscard]] std::string text_of(const std::filesystem::path& path);
/// generations.csv, individuals.cmb, islands.csv and species.csv where there are such, and
/// best.cmb, one after the other.
[[nodiscard]] std::string results_of(const std::filesystem::path& directory);
/// Those of a run of its own.
[[nodiscard]] std::string uninterrupted(Experiment experiment,
                                        const std::filesystem::path& directory);

/// Cells of a line of a table, by the names of its columns.
using TableRow = std::map<std::string, std::string>;
[[nodiscard]] std::vector<TableRow> table_of(const std::filesystem::path& path);

/// individuals.cmb, block by block, which must be whole.
[[nodiscard]] std::vector<IndividualBlock> individuals_of(const std::filesystem::path& directory);

/// Delegates to another task, calling a hook before each evaluation of a phase.
[[nodiscard]] std::shared_ptr<const evolve::Task> watched_task(
    std::shared_ptr<const evolve::Task> task, std::function<void(std::uint64_t round)> hook,
    evolve::Phase phase = evolve::Phase::train);

/// Another task with a test of its own.
[[nodiscard]] std::shared_ptr<const evolve::Task> solvable_task(
    std::shared_ptr<const evolve::Task> task, const evolve::SolvedTest& test);

/// cart_pole that nobody balances at once, each best of which is validated.
[[nodiscard]] Experiment long_cart_pole_experiment(const std::filesystem::path& directory);
/// The same, which the validation of a best tells to be solved. Its episodes are other ones in each
/// generation, so every generation has a test of its own.
[[nodiscard]] Experiment solvable_cart_pole(const std::filesystem::path& directory,
                                            double candidate, double passes);

}  // namespace cambrian::distributed
