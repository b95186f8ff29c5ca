#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/distributed/run.hpp"
#include "cambrian/evolve/runs/training_run.hpp"

namespace cambrian::launch {

struct ConsoleSettings {
    bool terminal = false;  ///< A progress bar that is rewritten in place.
    bool colour = false;
    bool quiet = false;  ///< Only warnings.
    int width = 80;
    double interval = 10.0;           ///< Seconds between lines where the output is no terminal.
    std::function<double()> seconds;  ///< A clock; the steady one when empty.
};
/// For standard output: a terminal that can move its cursor, colours unless NO_COLOR is set.
/// @param interval is that of a config, log.interval.
[[nodiscard]] ConsoleSettings console_settings(bool quiet, double interval);
/// What a line has to wait for after the one before: ten a second on a terminal.
[[nodiscard]] double seconds_between_lines(const ConsoleSettings& settings);

/// Columns of a line of a generation or an epoch: those of the terminal, else 79.
[[nodiscard]] int line_columns(const ConsoleSettings& settings);

/// Seconds as a reader takes them in: "0.4 s", "1:05", "2:00:00".
[[nodiscard]] std::string duration_text(double seconds);

/// Seconds until the first stop criterion that time leads to, if any is in sight.
[[nodiscard]] std::optional<double> remaining_seconds(const distributed::StopSettings& stop,
                                                      const distributed::GenerationReport& last,
                                                      double seconds_per_generation,
                                                      double evaluations_per_generation);

/// One line for each generation, the most important fields first and as many as its width has room
/// for (generations.csv and timings.csv have all), as often as the settings say: the first and the
/// last always; with a line comes that of the last validation since the line before. On a terminal
/// validated ones have their line always, and there is a progress bar.
class ConsoleReporter : public distributed::Reporter {
  public:
    ConsoleReporter(std::ostream& out, ConsoleSettings settings);

    void started(const distributed::Experiment& experiment,
                 const std::vector<std::string>& rank_lines, std::uint64_t generation) override;
    void progressed(std::uint64_t generation, std::uint64_t done, std::uint64_t total) override;
    void generation_done(const distributed::GenerationReport& report) override;
    void warning(const std::string& text) override;

    /// Prints what is still held back, the result beside its baselines, and where to look.
    void finished(const distributed::Experiment& experiment, const distributed::RunResult& result);

  private:
    void print(const distributed::GenerationReport& report);
    void print_held();
    /// Says that another task judges from a generation on.
    void tell_change(const distributed::GenerationReport& report);
    void erase_bar();
    [[nodiscard]] std::string estimate(const distributed::GenerationReport& report) const;
    [[nodiscard]] std::string dimmed(const std::string& text) const;
    [[nodiscard]] std::string strong(const std::string& text) const;

    std::ostream& out_;
    ConsoleSettings settings_;
    distributed::StopSettings stop_;
    std::string_view unit_ = "generation";  ///< See unit_of().
    std::vector<evolve::TaskChange> changes_;
    std::optional<std::uint64_t> task_;                       ///< Of the last generation.
    std::optional<distributed::GenerationReport> held_;       ///< Not printed yet.
    std::optional<distributed::GenerationReport> validated_;  ///< The same, the last validated one.
    std::optional<std::uint64_t> evaluations_before_;
    std::uint64_t generations_ = 0;
    double mean_seconds_ = 0.0;
    double mean_evaluations_ = 0.0;
    double printed_at_ = 0.0;
    double bar_at_ = -1.0;
    bool bar_shown_ = false;
    std::string estimate_;
};

/// Prints lines of epochs, as often as log.interval says: the first and the last always.
class ConsoleTrainingReporter final : public distributed::TrainingReporter {
  public:
    /// @param quiet prints warnings alone. @param interval is that of a config, log.interval.
    ConsoleTrainingReporter(std::ostream& out, bool quiet, double interval,
                            const distributed::TrainingJob& job);

    void warning(const std::string& text) override;
    void note(const std::string& text) override;
    void started(Part part, const Score& score) override;
    void epoch_done(const EpochReport& report, std::int64_t best, double seconds,
                    bool last) override;

  private:
    [[nodiscard]] std::string text(const char* what, const Score& score) const;

    std::ostream& out_;
    bool quiet_;
    double interval_;  ///< Seconds between lines.
    int columns_;
    bool accuracy_;
    std::optional<double> printed_;  ///< When the last line was.
};

}  // namespace cambrian::launch
