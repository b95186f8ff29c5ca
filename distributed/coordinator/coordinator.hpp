#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/distributed/coordinator/evolution_directory.hpp"
#include "cambrian/distributed/coordinator/generation_log.hpp"
#include "cambrian/distributed/coordinator/journal.hpp"
#include "cambrian/distributed/coordinator/scheduler.hpp"
#include "cambrian/distributed/coordinator/succession.hpp"
#include "cambrian/distributed/generation/ancestry.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/task_thread.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::distributed {

/// A run on rank 0: has births evaluated, has the strategy decide, and commits one generation after
/// the other to the journal of the run directory. What was committed can be made again from there.
class Coordinator {
  public:
    Coordinator(Communicator& communicator, Backend& backend, const Experiment& experiment,
                Reporter& reporter, const std::atomic<int>& interrupt, const Turn& turn);

    [[nodiscard]] RunResult run(Start start);

  private:
    /// A generation between its scores and its line in the log.
    struct Generation {
        SharedRound round;
        GenerationResults results;
        std::vector<std::uint32_t> evaluators;  ///< By position.
        evolve::FitnessRange fitness;  ///< Of all scores, with those that were carried over.
        Clock::time_point begun;
        evolve::Decision decision{};
        SharedStrategy next{};  ///< The state after it, where somebody has asked for it.
    };

    /// The fittest after a generation, without its genome: one of its births, or a member that
    /// stays.
    struct Leader {
        Champion champion;
        std::optional<std::uint64_t> position;  ///< Of the birth,
        std::size_t place = 0;                  ///< or of the member in the newest pool.
    };

    void open(Start start);
    /// The directory, locked. Throws ConfigError where another run has it, and Deposed where
    /// another rank of this one coordinates by now.
    [[nodiscard]] std::unique_ptr<EvolutionDirectory> own_directory() const;
    void begin_reign();
    /// Throws ConfigError when a run from the start would lose what an earlier one left.
    void refuse_overwriting(Start start) const;
    /// The state after the checkpoint and what was committed after it, as far as that follows:
    /// `committed_` entries.
    void restore(Checkpoint&& checkpoint, std::span<const JournalEntry> committed);
    [[nodiscard]] StopReason loop();
    [[nodiscard]] RunResult result(StopReason reason);

    /// False when interrupted before the generation was complete.
    [[nodiscard]] bool advance();
    [[nodiscard]] bool evaluate(Generation& generation);
    void score_carried(Generation& generation) const;
    /// Has births that match no species found new ones. False when interrupted.
    [[nodiscard]] bool found_species(Generation& generation);
    /// Births of whole generations up to this one, one after another, whose evaluation failed.
    /// Throws Error where these are as many as the population has.
    [[nodiscard]] std::uint64_t count_failures(const Generation& generation) const;
    [[nodiscard]] std::optional<SharedIndividual> genome_of(const Generation& generation,
                                                            std::uint64_t position);
    [[nodiscard]] std::optional<SharedIndividual> genome_of(const Generation& generation,
                                                            const Leader& leader);
    /// On the host and as it was evaluated; nothing when interrupted.
    [[nodiscard]] std::optional<SharedIndividual> grown(const Generation& generation,
                                                        const Leader& leader);
    /// The champion that a position would be, without its genome.
    [[nodiscard]] static Champion challenger_of(const Generation& generation,
                                                std::uint64_t position);
    /// Nothing where no birth is valid and no member stays.
    [[nodiscard]] std::optional<Leader> leader_of(const Generation& generation);
    /// Nothing when interrupted.
    [[nodiscard]] std::optional<GenerationReport> summarise(const Generation& generation);
    /// The structure of what is evaluated of a genome.
    [[nodiscard]] evolve::SharedStructure network_of(const evolve::Individual& genome) const;
    /// Finds out how large the network of the fittest is. False when interrupted.
    [[nodiscard]] bool measure_fittest(const Generation& generation, const Leader& leader);
    /// Validates the network that a run starts from: a champion must be better than it. False when
    /// interrupted.
    [[nodiscard]] bool judge_initial(const Generation& generation);
    /// Tests the best of a generation and others, validates the best where that is due, and has it
    /// challenge the champion. False when interrupted.
    [[nodiscard]] bool judge_champion(Generation& generation, GenerationReport& report);
    /// Whether the best of a generation is the best of the members after the decision, too: not
    /// where it gives way to founders or migrants, or its species dies out.
    [[nodiscard]] bool lives_on(const Leader& leader, Generation& generation) const;
    void commit(Generation&& generation, GenerationReport report);

    /// Validates the best of the last generation, where the schedule did not: at the end of a run.
    /// False when interrupted.
    [[nodiscard]] bool judge_last();
    /// The fitness of networks in a round on the task of a generation, nothing for one that is not
    /// valid. Nothing at all when interrupted.
    [[nodiscard]] std::optional<std::vector<std::optional<double>>> judge_all(
        std::vector<ReadyChild> networks, const evolve::EvaluationRound& round,
        std::uint64_t generation);
    /// The same for one, in a phase of a generation. False when interrupted.
    /// @param origin the birth that made its genome.
    [[nodiscard]] bool judge(const SharedIndividual& genome, evolve::BirthId origin,
                             evolve::Phase phase, std::uint64_t generation,
                             std::optional<double>& fitness);
    /// What tells that a network of a generation solves the task, where the run is to end then.
    [[nodiscard]] std::optional<evolve::SolvedTest> test_of(std::uint64_t generation) const;
    /// Tests the best of a generation, and other candidates, all at once: the first of those that
    /// pass with the best test becomes the leader. False when interrupted.
    [[nodiscard]] bool test_candidates(const Generation& generation, Leader& leader,
                                       GenerationReport& report);
    /// The same where the train fitness is the test, which nobody is evaluated for again: of the
    /// fittest `stop.candidates` the first that reaches the mark, before its price, is the leader.
    [[nodiscard]] bool test_train_fitness(const Generation& generation, double mark, Leader& leader,
                                          GenerationReport& report);
    /// Whether a fitness in the task, before the price of its network, is so high. Nothing when
    /// interrupted.
    [[nodiscard]] std::optional<bool> reaches(const Generation& generation, const Leader& leader,
                                              double worth);
    /// Whether the best of a generation has failed the same test before, as the same network.
    [[nodiscard]] bool failed_before(const Leader& leader, const evolve::SolvedTest& test,
                                     const GenerationReport& report) const;
    /// The fittest births that are worth it, but the leader and networks of generations before: as
    /// many as are tested beside `tested` others. Where networks have prices, of the fittest
    /// `stop.candidates`. Nothing when interrupted.
    [[nodiscard]] std::optional<std::vector<std::uint64_t>> other_candidates(
        const Generation& generation, const Leader& leader, double worth, std::size_t tested);
    /// The best of a generation and others that may solve the task. Nothing when interrupted.
    [[nodiscard]] std::optional<std::vector<Leader>> candidates_of(const Generation& generation,
                                                                   const Leader& leader,
                                                                   const evolve::SolvedTest& test,
                                                                   GenerationReport& report);
    /// One that solves the task, or is better, becomes the champion; its genome is fetched only
    /// then. False when interrupted.
    [[nodiscard]] bool challenge(const Generation& generation, const Leader& leader,
                                 const GenerationReport& report);
    /// Whether a network takes the place of the champion; that of a task that has passed is none.
    [[nodiscard]] bool outdoes_champion(const Champion& challenger) const;
    /// The champion, where it is that of the task that judged last.
    [[nodiscard]] const Champion* present_champion() const;
    /// The champion that a member of the newest pool would be. Nothing when interrupted.
    [[nodiscard]] std::optional<Champion> member_at(std::size_t place);
    /// The generation that is told next: so many are committed.
    [[nodiscard]] std::uint64_t next_generation() {
        return scheduler_.follower().round()->generation();
    }

    /// Why the run ends after a generation.
    [[nodiscard]] std::optional<StopReason> reached(const GenerationReport& report) const;
    [[nodiscard]] double elapsed() const;

    /// False when interrupted.
    [[nodiscard]] bool checkpoint_when_due();
    /// The state that a checkpoint without its genomes notes.
    /// @param strategy of the newest round.
    [[nodiscard]] Checkpoint state_of(const evolve::Strategy& strategy) const;
    /// Hands the state to the writer, which makes it survive a power cut. False when interrupted
    /// before it was together.
    [[nodiscard]] bool checkpoint();
    /// Has the writer do something, and waits until all is done that it has to do. Workers are
    /// answered meanwhile: a disk may be slower than a lease.
    void write(TaskThread::Task task);
    void drain();
    /// best.cmb where the champion is newer than the file; nothing else. On the writer's thread, or
    /// when that has nothing to do.
    void write_best(const std::optional<Champion>& champion) const;
    /// Whether what was asked for is reached, see RunResult::solved; nothing when nothing was.
    [[nodiscard]] std::optional<bool> solved() const;
    /// Throws Deposed, as all that writes into the directory.
    void write_status(const char* state, std::optional<int> exit_code, std::string_view reason,
                      std::optional<double> tested = std::nullopt);
    void fail(const std::exception& error) noexcept;
    /// Throws Deposed where another rank coordinates since.
    void require_own_reign() const;
    /// After an error: the same, and then nobody is told to stop.
    void yield_to_successor();

    const Experiment& experiment_;
    Reporter& reporter_;
    const std::atomic<int>& interrupt_;
    evolve::TaskSignature signature_;
    std::string fingerprint_;
    std::string arithmetic_;
    const std::string identity_;
    Scheduler scheduler_;  ///< Before the directory: whatever fails there stops the workers.
    Ancestry ancestry_;    ///< Its genomes die before the scheduler.
    const std::uint32_t own_rank_;
    Reign reign_;
    std::optional<ReignWatch> reign_watch_;
    std::unique_ptr<EvolutionDirectory> directory_;
    std::unique_ptr<GenerationLog> log_;
    std::optional<Journal> journal_;
    bool begun_ = false;                 ///< There is a checkpoint that the journal follows.
    std::uint64_t checkpoint_read_ = 0;  ///< Generation of the one that the run goes on from,
    std::size_t committed_ = 0;          ///< and what was committed after it.
    std::optional<Champion> champion_;
    /// The last fittest individual and its weights: it may be carried for long.
    evolve::BirthId fittest_origin_ = 0;
    std::uint64_t fittest_parameters_ = 0;
    std::uint64_t fittest_bytes_ = 0;     ///< Known where the parameters are,
    std::uint64_t fittest_products_ = 0;  ///< where these have a price, too.
    bool champion_on_disk_ = false;       ///< Or on its way.
    std::optional<GenerationReport> last_;
    double elapsed_before_ = 0.0;
    Clock::time_point started_ = Clock::now();
    Clock::time_point last_checkpoint_ = Clock::now();
    Clock::time_point last_status_ = Clock::now();
    /// What the writer has written since the start.
    struct Written {
        std::atomic<std::uint64_t> generations = 0;
        std::atomic<std::uint64_t> journal_bytes = 0;
        std::atomic<std::uint64_t> individuals_bytes = 0;
    };
    Written written_;
    std::atomic<double> checkpoint_cost_ = 0.0;  ///< Seconds the last one took.
    std::atomic<bool> checkpoint_running_ = false;
    std::uint64_t checkpoint_generation_ = 0;
    TaskThread writer_;  ///< Last: finishes before what it writes is gone.
};

}  // namespace cambrian::distributed
