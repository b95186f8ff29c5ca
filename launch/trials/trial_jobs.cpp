#include "cambrian/launch/trials/trial_jobs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/config/training_reader.hpp"

namespace cambrian::launch {
namespace {

/// Passes warnings on, each once in a set of trials.
class TrialReporter final : public distributed::Reporter {
  public:
    using Warn = std::function<void(const std::string& text)>;
    explicit TrialReporter(Warn warn) : warn_(std::move(warn)) {}
    void started(const distributed::Experiment&, const std::vector<std::string>&,
                 std::uint64_t) override {
        started_ = true;
    }
    void progressed(std::uint64_t, std::uint64_t, std::uint64_t) override {}
    void generation_done(const distributed::GenerationReport&) override {}
    void warning(const std::string& text) override { warn_(text); }
    /// Whether the files of an earlier try have been read.
    [[nodiscard]] bool has_started() const { return started_; }

  private:
    Warn warn_;
    bool started_ = false;
};

/// Where a damaged run is kept: beside those from before, which may be all that is left of it.
std::filesystem::path place_aside(const std::filesystem::path& directory) {
    const std::string first = directory.string() + ".damaged";
    std::filesystem::path place = first;
    for (int number = 2; std::filesystem::exists(std::filesystem::symlink_status(place)); ++number)
        place = fmt::format("{}-{}", first, number);
    return place;
}

bool has_same_tasks(const ResolvedConfig& a, const ResolvedConfig& b) {
    return a.base_directory == b.base_directory &&
           a.effective->at("task") == b.effective->at("task");
}

evolve::TaskSchedule tasks_of(const distributed::Experiment& experiment) {
    evolve::TaskSchedule tasks(experiment.task);
    tasks.changes = experiment.changes;
    return tasks;
}

}  // namespace

ResolvedConfig trial_config(const TrialsOptions& options, const Schema& schema, std::uint64_t seed,
                            const std::string& directory) {
    require_utf8(directory, "--directory is", "choose another");
    std::vector<std::string> overrides = options.overrides;
    overrides.push_back(fmt::format("run.seed={}", seed));
    overrides.push_back("run.directory=" + Json(directory).dump());
    const ConfigDocument document = read_config(options.config, overrides);
    refuse_overrides_of_training(document.origins);
    return resolve_evolution(document, schema);
}

PreparedTrial prepared_trial(const TrialsContext& context, const Schema& schema,
                             ResolvedConfig config, IdleFormats idle, const PreparedTrial* other) {
    evolve::TaskSchedule tasks = other != nullptr && has_same_tasks(config, other->config)
                                     ? tasks_of(other->experiment)
                                     : make_tasks(config, context.tasks);
    Founder founder = make_founder(config, *tasks.first, idle);
    distributed::Experiment experiment =
        make_experiment(config, schema, std::move(tasks), std::move(founder), Purpose::evolve,
                        context.strategies, context.genomes);
    return {std::move(config), std::move(experiment)};
}

bool TrialJobs::run(std::vector<std::uint64_t> seeds,
                    std::vector<std::unique_ptr<Backend>> backends,
                    const std::vector<DeviceSettings>& settings,
                    const std::atomic<int>& interrupt) {
    seeds_ = std::move(seeds);
    working_ = backends.size();
    {
        std::vector<std::jthread> threads;
        for (std::size_t job = 0; job < backends.size(); ++job)
            threads.emplace_back([&, job] {
                work(*backends[job], settings[job],
                     {static_cast<int>(job), static_cast<int>(backends.size())});
            });
        std::unique_lock lock(mutex_);
        while (working_ > 0) {
            // A signal wakes nobody.
            ended_.wait_for(lock, std::chrono::milliseconds(20));
            if (interrupt.load() != 0) stop_ = interrupt.load();
        }
    }
    if (failure_) std::rethrow_exception(failure_);
    return done_ == seeds_.size();
}

std::optional<std::uint64_t> TrialJobs::next_seed() {
    const std::lock_guard lock(mutex_);
    if (stop_.load() != 0 || next_ == seeds_.size()) return std::nullopt;
    return seeds_[next_++];
}

void TrialJobs::work(Backend& backend, const DeviceSettings& settings, RankPlace place) {
    while (const auto seed = next_seed()) {
        try {
            run_one(*seed, backend, settings, place);
        } catch (...) {
            fail(*seed);
        }
    }
    const std::lock_guard lock(mutex_);
    --working_;
    ended_.notify_all();
}

void TrialJobs::fail(std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    stop_ = 1;
    if (failure_) return;
    failure_ = std::current_exception();
    context_.err << fmt::format("cambrian: the run of seed {} failed, in {}\n", seed,
                                set_.directory_of(seed).string());
}

void TrialJobs::run_one(std::uint64_t seed, Backend& backend, const DeviceSettings& settings,
                        RankPlace place) {
    PreparedTrial run = [&] {
        const std::lock_guard lock(mutex_);
        return prepared_trial(
            context_, schema_,
            trial_config(options_, schema_, seed, set_.directory_of(seed).string()),
            IdleFormats::kept);  // Judged as that of all.
    }();
    run.experiment.distribution.device = settings.device_text();
    run.experiment.distribution.fallback =
        fallback_of(run.config.effective->at("engine"), settings, place);
    const distributed::RunResult result = evolve(run.experiment, backend, seed);
    if (result.reason == distributed::StopReason::interrupted) return;
    const std::lock_guard lock(mutex_);
    set_.add(trial_of(seed, result), run.experiment);
    ++done_;
    solved_ += result.solved.value_or(false) ? 1U : 0U;
    say_progress();
}

distributed::RunResult TrialJobs::evolve(const distributed::Experiment& experiment,
                                         Backend& backend, std::uint64_t seed) {
    TrialReporter reporter([&](const std::string& text) { warn(seed, text); });
    const auto start = [&] {
        distributed::Communicator alone = distributed::make_local_communicator();
        return distributed::run_coordinator(alone, backend, experiment, distributed::Start::proceed,
                                            reporter, stop_);
    };
    try {
        return start();
    } catch (const OutputError&) {
        throw;
    } catch (const InputError& error) {
        // Its files were not synced: a host that went down may have left anything.
        if (reporter.has_started() || !std::filesystem::exists(experiment.directory)) throw;
        const std::filesystem::path aside = place_aside(experiment.directory);
        std::filesystem::rename(experiment.directory, aside);
        warn(seed, fmt::format("{}; it lies in {} now, and the run begins anew", error.what(),
                               aside.string()));
    }
    return start();
}

void TrialJobs::warn(std::uint64_t seed, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (warned_.insert(text).second)
        context_.out << fmt::format("warning: seed {}: {}\n", seed, text) << std::flush;
}

void TrialJobs::say_progress() {
    const auto now = std::chrono::steady_clock::now();
    if (console_.quiet || done_ == seeds_.size() ||
        now - said_ < std::chrono::duration<double>(console_.interval))
        return;
    said_ = now;
    context_.out << fmt::format("  {} of {} runs are done{}\n", done_, seeds_.size(),
                                solved_ > 0 ? fmt::format(", {} solved", solved_) : std::string())
                 << std::flush;
}

}  // namespace cambrian::launch
