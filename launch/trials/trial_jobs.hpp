#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cambrian/distributed/experiment.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/devices/device.hpp"
#include "cambrian/launch/show/console_reporter.hpp"
#include "cambrian/launch/trials/trial_runner.hpp"
#include "cambrian/launch/trials/trial_set.hpp"

namespace cambrian::launch {

/// A run that is to be made.
struct PreparedTrial {
    ResolvedConfig config;
    distributed::Experiment experiment;
};
/// The run of a seed, or that of all, in a directory, which may name keys in braces.
[[nodiscard]] ResolvedConfig trial_config(const TrialsOptions& options, const Schema& schema,
                                          std::uint64_t seed, const std::string& directory);
/// @param other a trial whose tasks are taken, data and all, where both have the same; null: none.
[[nodiscard]] PreparedTrial prepared_trial(const TrialsContext& context, const Schema& schema,
                                           ResolvedConfig config, IdleFormats idle,
                                           const PreparedTrial* other = nullptr);

/// Threads that take one seed after another.
class TrialJobs {
  public:
    TrialJobs(const TrialsContext& context, const Schema& schema, const TrialsOptions& options,
              TrialSet& set, double interval)
        : context_(context),
          schema_(schema),
          options_(options),
          set_(set),
          console_(console_settings(options.quiet, interval)) {}

    /// False when interrupted.
    bool run(std::vector<std::uint64_t> seeds, std::vector<std::unique_ptr<Backend>> backends,
             const std::vector<DeviceSettings>& settings, const std::atomic<int>& interrupt);

  private:
    void work(Backend& backend, const DeviceSettings& settings, RankPlace place);
    std::optional<std::uint64_t> next_seed();
    void run_one(std::uint64_t seed, Backend& backend, const DeviceSettings& settings,
                 RankPlace place);
    distributed::RunResult evolve(const distributed::Experiment& experiment, Backend& backend,
                                  std::uint64_t seed);
    void fail(std::uint64_t seed);
    void say_progress();
    void warn(std::uint64_t seed, const std::string& text);

    const TrialsContext& context_;
    const Schema& schema_;
    const TrialsOptions& options_;
    TrialSet& set_;
    ConsoleSettings console_;
    std::mutex mutex_;  ///< Of all that follows, of configs and of the console.
    std::condition_variable ended_;
    std::vector<std::uint64_t> seeds_;
    std::size_t next_ = 0;
    std::size_t working_ = 0;
    std::size_t done_ = 0;
    std::size_t solved_ = 0;
    std::set<std::string> warned_;
    std::exception_ptr failure_;
    std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
    std::atomic<int> stop_{0};
};

}  // namespace cambrian::launch
