#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/distributed/coordinator/evolution_directory.hpp"
#include "cambrian/distributed/coordinator/generation_log.hpp"
#include "cambrian/distributed/coordinator/parent_pool.hpp"
#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/evolve/runs/writer_thread.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::distributed {

/// A run on rank 0: asks the strategy, has births evaluated, keeps every genome of the parent pool,
/// and commits one generation after the other to the run directory.
class Coordinator {
  public:
    Coordinator(Communicator& communicator, Backend& backend, const Experiment& experiment,
                Reporter& reporter, const std::atomic<int>& interrupt);

    [[nodiscard]] RunResult run(Start start);

  private:
    using Clock = std::chrono::steady_clock;

    /// A generation between its births and its line in the log.
    struct Generation {
        std::uint64_t number = 0;
        std::vector<evolve::Birth> births;
        GenerationResults results{0};
        Clock::time_point begun;
        std::shared_ptr<const void> retired;  ///< Freed with it.
    };

    void open(Start start);
    /// Throws ConfigError when a run from the start would lose what an earlier one left.
    void refuse_overwriting(Start start) const;
    void restore(Checkpoint&& checkpoint);
    [[nodiscard]] StopReason loop();
    [[nodiscard]] RunResult result(StopReason reason);

    /// False when interrupted before the generation was complete.
    [[nodiscard]] bool advance();
    [[nodiscard]] bool evaluate(Generation& generation);
    void refuse_total_failure(const Generation& generation) const;
    /// Evaluates some of the births, by place; the others are carried with their outcomes.
    [[nodiscard]] bool evaluate_some(Generation& generation, std::span<const std::size_t> places);
    [[nodiscard]] SharedGenome genome_of(const Generation& generation, std::size_t index);
    [[nodiscard]] GenerationReport summarise(const Generation& generation) const;
    /// False when interrupted.
    /// Validates the network that a run starts from: a champion must be better than it.
    [[nodiscard]] bool judge_initial(const Generation& generation);
    [[nodiscard]] bool judge_champion(const Generation& generation, GenerationReport& report);
    void commit(Generation&& generation, GenerationReport report);

    /// Validates the best of the last generation, where the schedule did not: at the end of a run.
    /// False when interrupted.
    [[nodiscard]] bool judge_last();
    /// Sets `report.validated`. False when interrupted.
    [[nodiscard]] bool validate(const SharedGenome& genome, GenerationReport& report);
    void challenge(Champion challenger);

    /// Why the run ends after a generation.
    [[nodiscard]] std::optional<StopReason> reached(const GenerationReport& report) const;
    [[nodiscard]] double elapsed() const;

    void checkpoint_when_due();
    /// Hands the state to the writer, which makes it survive a power cut.
    void checkpoint();
    /// Has the writer do something, and waits until all is done that it has to do. Workers are
    /// answered meanwhile: a disk may be slower than a lease.
    void write(WriterThread::Task task);
    void drain();
    /// best.cmb where the champion is newer than the file; nothing else. On the writer's thread, or
    /// when that has nothing to do.
    void write_best(const std::optional<Champion>& champion) const;
    /// Whether the fitness that was asked for is reached; nothing when none was.
    [[nodiscard]] std::optional<bool> solved() const;
    void write_status(const char* state, std::optional<int> exit_code, std::string_view reason,
                      std::optional<double> tested = std::nullopt) const;
    void fail(const std::exception& error) noexcept;

    const Experiment& experiment_;
    Reporter& reporter_;
    const std::atomic<int>& interrupt_;
    evolve::TaskSignature signature_;
    bool reevaluate_;
    std::string fingerprint_;
    std::string arithmetic_;
    const std::string identity_;
    Scheduler scheduler_;  ///< Before the directory: whatever fails there stops the workers.
    const std::int64_t memory_limit_;
    std::unique_ptr<EvolutionDirectory> directory_;
    std::unique_ptr<GenerationLog> log_;
    std::unique_ptr<evolve::Strategy> strategy_;
    ParentPool parent_pool_;
    std::optional<Champion> champion_;
    bool champion_on_disk_ = false;  ///< Or on its way.
    std::optional<GenerationReport> last_;
    double elapsed_before_ = 0.0;
    Clock::time_point started_ = Clock::now();
    Clock::time_point last_checkpoint_ = Clock::now();
    Clock::time_point last_status_ = Clock::now();
    std::atomic<double> checkpoint_cost_ = 0.0;  ///< Seconds the last one took.
    std::atomic<bool> checkpoint_running_ = false;
    std::uint64_t checkpoint_generation_ = 0;
    WriterThread writer_;  ///< Last: finishes before what it writes is gone.
};

}  // namespace cambrian::distributed
