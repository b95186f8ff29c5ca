#include "cambrian/launch/trials/trial_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/io/durability.hpp"
#include "cambrian/launch/devices/device.hpp"
#include "cambrian/launch/trials/trial_jobs.hpp"
#include "cambrian/launch/trials/trial_set.hpp"

namespace cambrian::launch {
namespace {

constexpr const char* default_directory = "trials/{name}";

void refuse_own_keys(const std::vector<std::string>& overrides) {
    for (const std::string& text : overrides) {
        if (text.starts_with("run.seed="))
            throw ConfigError(
                "run.seed is set (each run has a seed of its own) give --first-seed instead");
        if (text.starts_with("run.directory="))
            throw ConfigError(
                "run.directory is set (each run has one in the directory of all) give --directory "
                "instead");
    }
}

ResolvedConfig config_of_all(const TrialsOptions& options, const Schema& schema) {
    refuse_own_keys(options.overrides);
    ResolvedConfig config =
        trial_config(options, schema, options.first_seed,
                     options.directory.empty() ? default_directory : options.directory);
    const Json& stop = config.effective->at("run").at("stop");
    if (!stop.contains("generations") && !stop.contains("evaluations") && !stop.contains("seconds"))
        throw ConfigError(
            "run.stop has no cap (a run that fails would never end) set run.stop.generations or "
            "run.stop.evaluations");
    return config;
}

/// run.base_directory of a config that was checked, before its seed is filled in.
std::string unfilled_base_directory(const TrialsOptions& options) {
    const Json config = *read_config(options.config, options.overrides).json;
    return config.value("run", Json::object()).value("base_directory", "");
}

/// Reads the data of runs once more that have ended, where they are not those that were read for
/// the first run; null where all runs have the same.
TrialContent::Prepare prepare_ended(const TrialsContext& context, const Schema& schema,
                                    const TrialsOptions& options, const PreparedTrial& all,
                                    const std::atomic<int>& interrupt) {
    if (!seed_names_data(schema, *all.config.written, unfilled_base_directory(options))) return {};
    return [&](std::uint64_t seed) -> std::optional<distributed::Experiment> {
        if (interrupt.load() != 0) return std::nullopt;
        if (seed == options.first_seed) return all.experiment;
        try {
            const std::string directory = all.experiment.directory.string();
            return prepared_trial(context, schema, trial_config(options, schema, seed, directory),
                                  IdleFormats::kept, &all)
                .experiment;
        } catch (...) {
            context.err << fmt::format(
                "cambrian: seed {} has ended, and what it was made with cannot be read again\n",
                seed);
            throw;
        }
    };
}

/// So many runs at a time: as many as processors; one on a GPU, and of a task that calls functions
/// of a program, which may not be made for several threads.
std::size_t job_count(const TrialsOptions& options, const PreparedTrial& all) {
    const Json& engine = all.config.effective->at("engine");
    std::size_t jobs = options.jobs;
    if (jobs == 0) {
        const DeviceSettings alone = device_settings(engine, {});
        const auto threads = engine.at("threads").is_number() ? alone.threads : 1;
        jobs = alone.backend == "vulkan" || all.experiment.runs_on_host()
                   ? 1
                   : static_cast<std::size_t>(std::max(1, available_processors() / threads));
    }
    return std::clamp<std::size_t>(options.runs, 1, jobs);
}

PreparedTrial prepared_all(const TrialsContext& context, const Schema& schema,
                           const TrialsOptions& options) {
    ResolvedConfig config = config_of_all(options, schema);
    const IdleFormats idle = idle_formats(config);
    return prepared_trial(context, schema, std::move(config), idle);
}

}  // namespace

std::filesystem::path check_trials(const TrialsContext& context, const Schema& schema,
                                   const TrialsOptions& options) {
    return prepared_all(context, schema, options).experiment.directory;
}

TrialsDone run_trials(const TrialsContext& context, const Schema& schema,
                      const TrialsOptions& options, const std::atomic<int>& interrupt) {
    const PreparedTrial all = prepared_all(context, schema, options);
    const Json& engine = all.config.effective->at("engine");
    const std::size_t jobs = job_count(options, all);
    std::vector<DeviceSettings> settings;
    std::vector<std::unique_ptr<Backend>> backends;
    for (std::size_t job = 0; job < jobs; ++job) {
        settings.push_back(
            device_settings(engine, {static_cast<int>(job), static_cast<int>(jobs)}));
        backends.push_back(make_backend(settings.back()));
    }
    const WithoutSync unsynced;
    TrialSet set(all.config, schema, {options.first_seed, options.runs},
                 {arithmetic_of(*backends.front()), all.experiment,
                  prepare_ended(context, schema, options, all, interrupt)});
    std::vector<std::uint64_t> seeds;
    for (std::uint64_t i = 0; i < options.runs; ++i)
        if (!set.holds(options.first_seed + i)) seeds.push_back(options.first_seed + i);
    if (!options.quiet)
        context.out << fmt::format("{}: task {}, seeds {} to {}{}, {} at a time\n",
                                   all.experiment.name, all.experiment.task->type(),
                                   options.first_seed, options.first_seed + options.runs - 1,
                                   seeds.size() < options.runs
                                       ? fmt::format(" ({} are done)", options.runs - seeds.size())
                                       : std::string(),
                                   jobs)
                    << std::flush;
    TrialsDone done;
    done.directory = set.path().string();
    std::exception_ptr failure;
    try {
        TrialJobs workers(context, schema, options, set, all.experiment.log.interval);
        // Not all seeds may have been compared.
        done.interrupted =
            interrupt.load() != 0 || !workers.run(seeds, std::move(backends), settings, interrupt);
    } catch (...) {
        failure = std::current_exception();
    }
    done.trials = set.finish();
    if (failure) std::rethrow_exception(failure);
    return done;
}

}  // namespace cambrian::launch
