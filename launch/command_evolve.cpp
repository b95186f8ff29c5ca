#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "cambrian/distributed/hello.hpp"
#include "cambrian/distributed/mpi_session.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/commands.hpp"
#include "cambrian/launch/console_reporter.hpp"
#include "cambrian/launch/device.hpp"
#include "cambrian/launch/dry_run.hpp"
#include "cambrian/launch/exit_code.hpp"
#include "cambrian/launch/experiment_reader.hpp"
#include "cambrian/launch/launcher.hpp"
#include "cambrian/launch/signals.hpp"
#include "cambrian/launch/training_reader.hpp"

namespace cambrian::launch {
namespace {

struct Job {
    ResolvedConfig config;
    std::vector<Difference> changes;
};

Job read_job(const RunOptions& options, const Schema& schema) {
    Job job;
    job.config = options.resume
                     ? read_resumed(options.config, options.overrides, schema, job.changes)
                     : resolve(read_config(options.config, options.overrides), schema);
    refuse_training(job.config);
    return job;
}

/// --print-config and --dry-run: no run, no MPI; the other ranks of a job have nothing to say.
int show(const CommandContext& context, const RunOptions& options) {
    if (launcher_rank() != 0) return exit_done;
    const Schema schema;
    const Job job = read_job(options, schema);
    if (options.print_config) {
        context.out << job.config.written->dump(2) << '\n';
        return exit_done;
    }
    const distributed::Experiment experiment = make_experiment(job.config, schema, context.tasks);
    const auto backend = make_backend(device_settings(
        job.config.effective->at("engine"), {launcher_local_rank(), launcher_local_size()}));
    context.out << dry_run_text(experiment, *backend, distributed::launched_ranks());
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

/// What this rank computes with. A worker without tells the coordinator, which goes on with others.
Engine make_engine(const Json& section, const RunOptions& options,
                   distributed::Communicator& communicator, RankPlace place) {
    const bool coordinator = communicator.rank() == 0;
    try {
        Engine engine;
        engine.settings = device_settings(section, place);
        if (coordinator || engine.settings.backend == "vulkan")
            require_backend_for(engine.settings, dump_directory(options.dump, communicator),
                                options.profile);
        engine.backend = make_backend(engine.settings);
        return engine;
    } catch (const Error& error) {
        if (!coordinator) distributed::decline(communicator, error.what());
        throw;
    }
}

/// One rank's part of the run.
int run_rank(const CommandContext& context, const RunOptions& options,
             distributed::Communicator& communicator, RankPlace place,
             const std::atomic<int>& interrupt) {
    const Schema schema;
    const Job job = read_job(options, schema);
    const bool coordinator = communicator.rank() == 0;
    distributed::Experiment experiment = make_experiment(job.config, schema, context.tasks);
    if (coordinator && options.proceed) check_same_run(experiment.directory, job.config, schema);
    const Engine engine =
        make_engine(job.config.effective->at("engine"), options, communicator, place);
    experiment.distribution.threads = engine.settings.threads;
    experiment.distribution.device = engine.settings.device_text();
    experiment.distribution.fallback =
        fallback_of(job.config.effective->at("engine"), engine.settings, place);
    Backend& backend = *engine.backend;
    if (!coordinator) {
        distributed::run_worker(communicator, backend, experiment, interrupt);
        return interrupt.load() == 0 ? exit_done : exit_interrupted;
    }
    if (!options.quiet) context.out << changes_text(job.changes);
    ConsoleReporter reporter(context.out, console_settings(options.quiet, experiment.log.interval));
    const distributed::RunResult result = distributed::run_coordinator(
        communicator, backend, experiment, start_of(options), reporter, interrupt);
    reporter.finished(experiment, result);
    if (options.profile) context.out << profile_text(backend);
    return result.reason == distributed::StopReason::interrupted ? exit_interrupted : exit_done;
}

int run_job(const CommandContext& context, const RunOptions& options) {
    // Before and after MPI too: starting and ending it takes a while.
    const SignalGuard signals;
    distributed::MpiSession session;
    if (session.rank() == 0) record_start();
    // A job that is wrong ends on every rank; only the coordinator says why, and ends them all.
    int code = exit_failed;
    try {
        distributed::Communicator communicator = session.communicator();
        code = run_rank(context, options, communicator,
                        {session.local_rank(), session.local_size()}, signals.flag());
    } catch (...) {
        const Failure failure = describe(std::current_exception());
        code = failure.exit_code;
        if (session.rank() == 0) {
            context.out << std::flush;
            context.err << "cambrian: error: " << failure.text << std::endl;
            record_exit_code(code);
            if (session.size() > 1) session.abort(code);
        }
    }
    session.set_exit_code(code);
    if (session.rank() == 0) record_exit_code(code);
    return code;
}

int run_alone(const CommandContext& context, const RunOptions& options) {
    distributed::Communicator communicator = distributed::make_local_communicator();
    const SignalGuard signals;
    return run_rank(context, options, communicator, RankPlace{}, signals.flag());
}

}  // namespace

int evolve_command(const CommandContext& context, const RunOptions& options) {
    if (options.print_config || options.dry_run) return show(context, options);
    // Without a launcher there is nobody to meet, and starting MPI costs more than a small run.
    return under_launcher() ? run_job(context, options) : run_alone(context, options);
}

}  // namespace cambrian::launch
