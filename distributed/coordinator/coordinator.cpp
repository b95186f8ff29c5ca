#include "cambrian/distributed/coordinator/coordinator.hpp"

#include <fmt/core.h>

#include <cmath>
#include <exception>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"

// The frame of a run: the loop and the end. Its start, what happens within one generation and
// checkpoints have files of their own.
namespace cambrian::distributed {

namespace {

/// Generations that may wait to be written.
constexpr std::size_t writer_room = 2;

// Better now than after a generation of failures: no shard is small enough for such a network.
void check_memory(const Experiment& experiment, std::int64_t limit) {
    if (experiment.distribution.fallback) return;
    const std::int64_t bytes = Network(experiment.variation.founder).weight_count() *
                               static_cast<std::int64_t>(sizeof(float));
    if (limit > 0 && bytes > limit) {
        throw OutOfMemoryError(
            fmt::format("one network of {} weights needs {} bytes (engine.memory_limit gives {}) "
                        "use a smaller network or raise the limit",
                        bytes / static_cast<std::int64_t>(sizeof(float)), bytes, limit));
    }
}

}  // namespace

Coordinator::Coordinator(Communicator& communicator, Backend& backend, const Experiment& experiment,
                         Reporter& reporter, const std::atomic<int>& interrupt, const Turn& turn)
    : experiment_(experiment),
      reporter_(reporter),
      interrupt_(interrupt),
      signature_(experiment.task->signature()),
      fingerprint_(backend.describe().text()),
      arithmetic_(arithmetic_of(backend)),
      identity_(run_identity(experiment)),
      scheduler_(communicator, backend, experiment, ancestry_, reporter, interrupt, turn),
      own_rank_(static_cast<std::uint32_t>(communicator.rank())),
      reign_(turn.reign),
      writer_(writer_room) {
    ancestry_.begin(scheduler_.follower().newest()->strategy, {});
}

RunResult Coordinator::run(Start start) {
    check_memory(experiment_, scheduler_.memory_limit());
    check_changes(experiment_);
    check_preparations(experiment_);
    check_stop(experiment_);
    try {
        open(start);
        write_status("running", std::nullopt, "");
        scheduler_.gather();
        reporter_.started(experiment_, scheduler_.rank_lines(), next_generation());
        scheduler_.warn_of_sharing();
        scheduler_.warn_of_window();
        return result(loop());
    } catch (const std::exception& error) {
        fail(error);
        yield_to_successor();
        throw;
    }
}

StopReason Coordinator::loop() {
    if (experiment_.stop.generations == 0) {
        return StopReason::generations;
    }
    for (;;) {
        if (last_) {
            if (const auto reason = reached(*last_)) {
                return *reason;
            }
        }
        if (interrupt_.load() != 0 || !advance() || !checkpoint_when_due()) {
            return StopReason::interrupted;
        }
    }
}

RunResult Coordinator::result(StopReason reason) {
    scheduler_.rest();
    if (!checkpoint()) {
        // The journal has all that the checkpoint would.
        reason = StopReason::interrupted;
    }
    drain();
    // Not before the checkpoint: a run that goes on from it must not see this validation.
    if (reason != StopReason::interrupted) {
        reason = !judge_last() ? StopReason::interrupted
                 : last_       ? reached(*last_).value_or(reason)
                               : reason;
    }
    const bool interrupted = reason == StopReason::interrupted;
    RunResult result;
    result.reason = reason;
    if (last_) {
        result.last = *last_;
    }
    result.last.elapsed_seconds = elapsed();
    const Champion* champion = present_champion();
    if (champion != nullptr) {
        result.best_fitness = champion->fitness;
        result.best_validated = champion->validated;
        const evolve::SharedStructure structure = network_of(*champion->genome);
        result.best_price = price_of(experiment_, *structure);
        result.best_parameters = static_cast<std::uint64_t>(structure->weight_count());
    }
    if (champion != nullptr && signature_.tests && !interrupted) {
        const auto tested = judge_all({{champion->genome, 0, champion->origin}},
                                      {evolve::Phase::test, 0}, last_->generation);
        if (tested) {
            result.best_tested = tested->front();
        }
    }
    scheduler_.set_farewell(fmt::format("the run has ended ({})", name(reason)));
    result.solved = solved();
    const bool unsolved = experiment_.stop.require_solved && !result.solved.value_or(true);
    write_status(interrupted ? "interrupted" : "done",
                 interrupted ? exit_interrupted
                 : unsolved  ? exit_unsolved
                             : 0,
                 name(reason), result.best_tested);
    return result;
}

double Coordinator::elapsed() const {
    return elapsed_before_ + seconds_since(started_);
}

std::optional<StopReason> Coordinator::reached(const GenerationReport& report) const {
    if (experiment_.stop.solved && report.tests.passed) {
        return StopReason::solved;
    }
    const double compared =
        compared_fitness(experiment_.stop.fitness_of, signature_.validates, report);
    if (compared >= experiment_.stop.fitness && experiment_.has_last_task(report.generation)) {
        return StopReason::fitness;
    }
    if (scheduler_.follower().newest()->strategy->extinct()) {
        return StopReason::extinction;
    }
    if (report.generation + 1 >= experiment_.stop.generations) {
        return StopReason::generations;
    }
    if (report.evaluations >= experiment_.stop.evaluations) {
        return StopReason::evaluations;
    }
    if (elapsed() >= experiment_.stop.seconds) {
        return StopReason::seconds;
    }
    return std::nullopt;
}

std::optional<bool> Coordinator::solved() const {
    if (experiment_.stop.solved) {
        return last_ && last_->tests.passed;
    }
    if (std::isinf(experiment_.stop.fitness)) {
        return std::nullopt;
    }
    return last_ && reached(*last_) == StopReason::fitness;
}

void Coordinator::write_status(const char* state, std::optional<int> exit_code,
                               std::string_view reason, std::optional<double> tested) {
    RunStatus status;
    status.state = state;
    status.exit_code = exit_code;
    status.generation = next_generation();
    if (const Champion* champion = present_champion()) {
        status.best = champion->fitness;
        status.validated = champion->validated;
    }
    status.tested = tested;
    status.solved = solved();
    if (experiment_.stop.solved) {
        status.champion_tests = last_ ? last_->tests.count : 0;
    }
    status.reason = reason;
    if (const std::uint64_t generations = written_.generations.load(); generations > 0) {
        const auto mean = [generations](const std::atomic<std::uint64_t>& bytes) {
            return static_cast<double>(bytes.load()) / static_cast<double>(generations);
        };
        status.journal_bytes = mean(written_.journal_bytes);
        status.individuals_bytes = mean(written_.individuals_bytes);
    }
    reign_watch_->check();
    directory_->write_status(status);
}

void Coordinator::fail(const std::exception& error) noexcept {
    try {
        scheduler_.set_farewell(error.what());
        writer_.drain();
    } catch (const std::exception&) {
        // It is this error, or one that came after it.
    }
    // A directory that was refused belongs to another run.
    if (!log_) {
        return;
    }
    try {
        write_status("failed", failure_of(std::current_exception()).exit_code, error.what());
    } catch (const std::exception&) {
        // The error on its way to the user matters more than this one.
    }
}

void Coordinator::require_own_reign() const {
    // Before it has one it follows nobody, and nobody follows it.
    if (reign_.epoch > 0) {
        require_reign(experiment_.directory, reign_);
    }
}

void Coordinator::yield_to_successor() {
    try {
        if (reign_watch_) {
            reign_watch_->check();
        } else {
            require_own_reign();
        }
    } catch (const Deposed&) {
        scheduler_.set_farewell(std::nullopt);
        throw;
    } catch (const InputError&) {
        // The directory is another run's: no rank of this one follows there.
    }
}

double compared_fitness(FitnessOf of, bool validates, const GenerationReport& report) {
    switch (of) {
        case FitnessOf::mean:
            return report.mean;
        case FitnessOf::least:
            return report.invalid > 0 ? evolve::worst_fitness : report.worst;
        case FitnessOf::best:
            break;
    }
    return validates ? report.validated.value_or(evolve::worst_fitness) : report.best;
}

std::string_view name(StopReason reason) {
    switch (reason) {
        case StopReason::generations:
            return "generations";
        case StopReason::fitness:
            return "fitness";
        case StopReason::solved:
            return "solved";
        case StopReason::evaluations:
            return "evaluations";
        case StopReason::seconds:
            return "seconds";
        case StopReason::extinction:
            return "extinction";
        case StopReason::interrupted:
            break;
    }
    return "interrupted";
}

}  // namespace cambrian::distributed
