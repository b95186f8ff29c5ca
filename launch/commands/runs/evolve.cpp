#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "cambrian/distributed/communicator/mpi_session.hpp"
#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/distributed/protocol/initial_networks.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/distributed/worker/worker.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/config/config_differences.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/devices/device.hpp"
#include "cambrian/launch/process.hpp"
#include "cambrian/launch/show/console_reporter.hpp"
#include "cambrian/launch/show/run_text.hpp"

namespace cambrian::launch {
namespace {

struct Job {
    ResolvedConfig config;
    std::vector<Difference> changes;
};

Job read_job(const RunOptions& options, const Schema& schema) {
    Job job;
    if (options.resume) {
        job.config = read_resumed_evolution(options.config, options.overrides, schema, job.changes);
    } else {
        const ConfigDocument document = read_config(options.config, options.overrides);
        refuse_overrides_of_training(document.origins);
        job.config = resolve_evolution(document, schema);
    }
    return job;
}

std::string start_text(const Job& job) {
    return ignored_text(job.config, "train") + founder_text(job.config) + changes_text(job.changes);
}

Founder founder_of_run(const Job& job, const RunOptions& options, const evolve::Task& task) {
    if (options.resume) return make_founder(job.config, task, IdleFormats::kept, options.config);
    return make_founder(job.config, task,
                        options.proceed ? idle_formats(job.config) : IdleFormats::refused);
}

/// Passes --require-solved on. Throws ConfigError where the config asks for nothing to reach.
void require_solved(distributed::StopSettings& stop) {
    if (std::isinf(stop.fitness) && !stop.solved)
        throw ConfigError(
            "--require-solved has nothing to compare with (run.stop.fitness is not set, nor "
            "run.stop.solved) set one, or leave the option out");
    stop.require_solved = true;
}

/// --print-config and --dry-run: no run, no MPI; the other ranks of a job have nothing to say.
int show(const CommandContext& context, const RunOptions& options) {
    if (launcher_rank() != 0) return exit_done;
    if (context.plugin_failure) std::rethrow_exception(context.plugin_failure);
    const Schema schema(context.tasks, context.genomes);
    const Job job = read_job(options, schema);
    if (options.print_config) {
        context.out << job.config.written->dump(2) << '\n';
        return exit_done;
    }
    const evolve::TaskSchedule tasks = make_tasks(job.config, context.tasks);
    distributed::Experiment experiment =
        make_experiment(job.config, schema, tasks, founder_of_run(job, options, *tasks.first),
                        Purpose::evolve, context.strategies, context.genomes);
    if (options.require_solved) require_solved(experiment.stop);
    if (options.proceed) check_same_run(experiment.directory, job.config, schema);
    const RankPlace place{launcher_local_rank(), launcher_local_size()};
    const DeviceSettings settings = device_settings(job.config.effective->at("engine"), place);
    const auto backend = make_backend(settings);
    experiment.distribution.fallback =
        fallback_of(job.config.effective->at("engine"), settings, place);
    if (const std::string threads = threads_note(settings, place); !threads.empty())
        context.out << "warning: " << threads << '\n';
    context.out << start_text(job)
                << dry_run_text(experiment, *backend, distributed::launched_ranks());
    return exit_done;
}

distributed::Start start_of(const RunOptions& options) {
    if (options.resume) return distributed::Start::resume;
    return options.proceed ? distributed::Start::proceed : distributed::Start::fresh;
}

/// One directory for a run on one rank, one below it for each of several.
std::string dump_directory(const std::string& chosen,
                           const distributed::Communicator& communicator) {
    if (chosen.empty() || communicator.size() == 1) return chosen;
    return (std::filesystem::path(chosen) / fmt::format("rank-{}", communicator.rank())).string();
}

struct Engine {
    DeviceSettings settings;
    std::unique_ptr<Backend> backend;
};

/// What this rank computes with.
Engine make_engine(const Json& section, const RunOptions& options,
                   const distributed::Communicator& communicator, RankPlace place) {
    Engine engine;
    engine.settings = device_settings(section, place);
    if (communicator.rank() == 0 || engine.settings.backend == "vulkan")
        require_backend_for(engine.settings, dump_directory(options.dump, communicator),
                            options.profile);
    engine.backend = make_backend(engine.settings);
    return engine;
}

/// What the run starts from; nothing for a worker whose run has ended before rank 0 told it.
std::optional<Founder> find_founder(const Job& job, const RunOptions& options,
                                    const evolve::Task& task,
                                    distributed::Communicator& communicator,
                                    const std::atomic<int>& interrupt) {
    if (communicator.rank() == 0) return founder_of_run(job, options, task);
    // Rank 0 alone sees what has begun.
    if (!names_initial(job.config)) return make_founder(job.config, task, IdleFormats::kept);
    const double patience = distributed::WorkerLimits{}.first_contact_seconds;
    auto genomes = distributed::receive_initial(communicator, interrupt, patience);
    if (!genomes) return std::nullopt;
    return founder_of(job.config, *std::move(genomes));
}

/// Workers wait for the first word of rank 0: where it fails before, they are told not to.
class FirstWord {
  public:
    explicit FirstWord(distributed::Communicator& communicator) : communicator_(communicator) {}
    ~FirstWord() {
        if (given_ || communicator_.rank() != 0) return;
        try {
            distributed::dismiss(communicator_, "rank 0 failed before the run began");
        } catch (const std::exception&) {
            // Their own patience ends them.
        }
    }
    FirstWord(const FirstWord&) = delete;
    FirstWord& operator=(const FirstWord&) = delete;
    /// From now on the coordinator speaks.
    void given() { given_ = true; }

  private:
    distributed::Communicator& communicator_;
    bool given_ = false;
};

/// A config as it was read, or why it cannot be.
struct ReadJob {
    Job job;
    std::exception_ptr failure;
    double start_seconds = 0.0;  ///< The key distributed.start_seconds.
    double lease_seconds = 0.0;  ///< The key distributed.lease_seconds.
};

/// One rank of a run, and what it works with.
struct Rank {
    const CommandContext& context;
    const RunOptions& options;
    const Schema& schema;
    const ReadJob& read;
    distributed::Communicator& communicator;
    RankPlace place;
    const std::atomic<int>& interrupt;
    bool& coordinating;  ///< At last; at first it is rank 0.

    [[nodiscard]] bool coordinates() const { return communicator.rank() == 0; }
    [[nodiscard]] const Job& job() const { return read.job; }
    [[nodiscard]] const Json& engine_section() const {
        return job().config.effective->at("engine");
    }
};

/// Once a run has begun, its workers have heard of the coordinator.
class RankReporter final : public ConsoleReporter {
  public:
    using ConsoleReporter::ConsoleReporter;
    void started(const distributed::Experiment& experiment,
                 const std::vector<std::string>& rank_lines, std::uint64_t generation) override {
        record_running();
        ConsoleReporter::started(experiment, rank_lines, generation);
    }
};

int ended_worker(const Rank& rank) {
    return rank.interrupt.load() == 0 ? exit_done : exit_interrupted;
}

/// What the rank that coordinates says and does; the exit code.
int coordinate(const Rank& rank, const Engine& engine, const distributed::Experiment& experiment,
               distributed::Start start, const distributed::Turn& turn) {
    const RunOptions& options = rank.options;
    std::ostream& out = rank.context.out;
    if (!options.quiet) out << start_text(rank.job());
    if (const std::string threads = threads_note(engine.settings, rank.place); !threads.empty())
        out << "warning: " << threads << '\n';
    RankReporter reporter(out, console_settings(options.quiet, experiment.log.interval));
    const distributed::Reign& reign = turn.reign;
    if (!reign.dead.empty())
        reporter.warning(fmt::format("rank {} coordinates from now on (rank {} died)", reign.rank,
                                     reign.dead.back()));
    const distributed::RunResult result = distributed::run_coordinator(
        rank.communicator, *engine.backend, experiment, start, reporter, rank.interrupt, turn);
    reporter.finished(experiment, result);
    if (options.profile) out << profile_text(*engine.backend);
    if (result.reason == distributed::StopReason::interrupted) return exit_interrupted;
    if (!options.require_solved || result.solved.value_or(false)) return exit_done;
    if (options.quiet)
        rank.context.err << "cambrian: " << unsolved_text(experiment, result) << std::endl;
    return exit_unsolved;
}

/// What a rank takes part in a run with.
struct Prepared {
    distributed::Experiment experiment;
    Engine engine;
};

/// Nothing for a worker whose run has ended before it was ready.
std::optional<Prepared> prepare(const Rank& rank) {
    if (rank.read.failure) std::rethrow_exception(rank.read.failure);
    const RunOptions& options = rank.options;
    const ResolvedConfig& config = rank.job().config;
    const evolve::TaskSchedule tasks = make_tasks(config, rank.context.tasks);
    std::optional<Founder> founder =
        find_founder(rank.job(), options, *tasks.first, rank.communicator, rank.interrupt);
    if (!founder) return std::nullopt;
    distributed::Experiment experiment =
        make_experiment(config, rank.schema, tasks, *std::move(founder), Purpose::evolve,
                        rank.context.strategies, rank.context.genomes);
    if (options.require_solved) require_solved(experiment.stop);
    if (rank.coordinates() && options.proceed)
        check_same_run(experiment.directory, config, rank.schema);
    Engine engine = make_engine(rank.engine_section(), options, rank.communicator, rank.place);
    experiment.distribution.device = engine.settings.device_text();
    experiment.distribution.fallback =
        fallback_of(rank.engine_section(), engine.settings, rank.place);
    return Prepared{std::move(experiment), std::move(engine)};
}

/// The same; a worker that cannot take part tells the coordinator, which goes on without it:
/// whoever starts a job only sees what rank 0 says.
std::optional<Prepared> prepare_or_decline(const Rank& rank) {
    try {
        return prepare(rank);
    } catch (...) {
        if (!rank.coordinates())
            distributed::decline(rank.communicator, failure_of(std::current_exception()).text);
        throw;
    }
}

/// One rank's part of the run.
int run_rank(const Rank& rank) {
    FirstWord first_word(rank.communicator);
    const std::optional<Prepared> part = prepare_or_decline(rank);
    if (!part) return ended_worker(rank);
    first_word.given();
    std::optional<int> code;
    distributed::run_rank(rank.communicator, *part->engine.backend, part->experiment,
                          start_of(rank.options), rank.interrupt, distributed::WorkerLimits{},
                          [&](distributed::Start start, const distributed::Turn& turn) {
                              rank.coordinating = true;
                              code = coordinate(rank, part->engine, part->experiment, start, turn);
                          });
    return code ? *code : ended_worker(rank);
}

/// MPI waits as long as the config says, so the config is read before; what is wrong with it is
/// told once MPI runs, when rank 0 can end the whole job.
ReadJob read_ahead(const CommandContext& context, const RunOptions& options, const Schema& schema) {
    ReadJob read;
    const auto take_times = [&read](const Json& config) {
        const Json& section = config.at("distributed");
        read.start_seconds = section.at("start_seconds").get<double>();
        read.lease_seconds = section.at("lease_seconds").get<double>();
    };
    take_times(with_defaults(schema, Json::object()));
    try {
        if (context.plugin_failure) std::rethrow_exception(context.plugin_failure);
        read.job = read_job(options, schema);
        take_times(*read.job.config.effective);
    } catch (...) {
        read.failure = std::current_exception();
    }
    return read;
}

int run_job(const CommandContext& context, const RunOptions& options) {
    // Before and after MPI too: starting and ending it takes a while.
    const SignalGuard signals;
    const Schema schema(context.tasks, context.genomes);
    const ReadJob read = read_ahead(context, options, schema);
    distributed::MpiSession session(read.start_seconds, announce_mpi());
    session.set_lease(read.lease_seconds);
    if (session.rank() == 0) record_start();
    // A job that is wrong ends on every rank; only the coordinator says why, and ends them all.
    int code = exit_failed;
    bool coordinating = session.rank() == 0;
    try {
        distributed::Communicator communicator = session.communicator();
        code = run_rank({context, options, schema, read, communicator,
                         RankPlace{session.local_rank(), session.local_size()}, signals.flag(),
                         coordinating});
    } catch (const distributed::CoordinatorLost& error) {
        session.set_lease(std::min(read.lease_seconds, distributed::farewell_without_coordinator));
        if (error.cause) code = failure_of(error.cause).exit_code;
        // Rank 0 cannot say it: the next one does, and the last one, for a host may be lost.
        if (session.rank() == 1 || session.rank() == session.size() - 1)
            context.err << error_line(error.what()) << std::flush;
    } catch (const distributed::Deposed& error) {
        // The job and its exit code are another rank's.
        coordinating = false;
        context.out << std::flush;
        context.err << error_line(error.what()) << std::flush;
    } catch (...) {
        const Failure failure = failure_of(std::current_exception());
        code = failure.exit_code;
        if (coordinating) {
            context.out << std::flush;
            context.err << error_line(failure.text) << std::flush;
            record_exit_code(code, session.patience());
            if (session.size() > 1) session.abort(code);
        }
    }
    session.set_exit_code(code);
    if (coordinating) record_exit_code(code, session.patience());
    return code;
}

int run_alone(const CommandContext& context, const RunOptions& options) {
    distributed::Communicator communicator = distributed::make_local_communicator();
    const SignalGuard signals;
    const Schema schema(context.tasks, context.genomes);
    const ReadJob read = read_ahead(context, options, schema);
    bool coordinating = true;
    return run_rank(
        {context, options, schema, read, communicator, RankPlace{}, signals.flag(), coordinating});
}

}  // namespace

int evolve_command(const CommandContext& context, const RunOptions& options) {
    if (options.print_config || options.dry_run) return show(context, options);
    // Without a launcher there is nobody to meet, and starting MPI costs more than a small run.
    return under_launcher() ? run_job(context, options) : run_alone(context, options);
}

}  // namespace cambrian::launch
