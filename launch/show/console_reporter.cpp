#include "cambrian/launch/show/console_reporter.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string_view>

#include "cambrian/engine/network/network.hpp"
#include "cambrian/launch/process.hpp"
#include "cambrian/launch/show/run_text.hpp"

namespace cambrian::launch {
namespace {

constexpr double seconds_on_a_terminal = 0.1;
constexpr int columns_of_a_file = 79;  // Of a line where there is no terminal to ask.

double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// 1234567 → "1.23M": a rate is read at a glance.
std::string short_number(double value) {
    if (value >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
    if (value >= 1e4) return fmt::format("{:.3g}k", value / 1e3);
    return fmt::format("{:.4g}", value);
}

std::string share(double part, double whole) {
    return fmt::format("{:.0f}%", whole > 0.0 ? std::min(100.0, 100.0 * part / whole) : 0.0);
}

/// A line of at most so many columns. A field that has no room left is left out: tables have them
/// all.
class FittedLine {
  public:
    explicit FittedLine(int columns) : left_(static_cast<std::size_t>(std::max(0, columns))) {}
    /// @param shown the same text with colours, which take no columns; empty: as it is.
    void add(const std::string& text, const std::string& shown = {}) {
        if (!line_.empty() && !fits(text)) return;
        left_ -= std::min(left_, text.size());
        line_ += shown.empty() ? text : shown;
    }
    [[nodiscard]] bool fits(const std::string& text) const { return text.size() <= left_; }
    [[nodiscard]] const std::string& text() const { return line_; }

  private:
    std::size_t left_;
    std::string line_;
};

/// Open MPI gives a rank a terminal of its own, wherever the output of mpirun itself goes.
bool launcher_has_terminal() {
    if (!under_launcher()) return true;
    std::error_code error;
    const std::string target =
        std::filesystem::read_symlink(fmt::format("/proc/{}/fd/1", getppid()), error).string();
    return !error && (target.starts_with("/dev/pts/") || target.starts_with("/dev/tty"));
}

}  // namespace

ConsoleSettings console_settings(bool quiet, double interval) {
    ConsoleSettings settings;
    const char* kind = std::getenv("TERM");
    settings.terminal = isatty(STDOUT_FILENO) == 1 && kind != nullptr &&
                        std::string_view(kind) != "dumb" && launcher_has_terminal();
    const char* no_colour = std::getenv("NO_COLOR");
    settings.colour = settings.terminal && (no_colour == nullptr || *no_colour == '\0');
    settings.quiet = quiet;
    settings.interval = interval;
    winsize size{};
    if (settings.terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        settings.width = size.ws_col;
    return settings;
}

double seconds_between_lines(const ConsoleSettings& settings) {
    return settings.terminal ? seconds_on_a_terminal : settings.interval;
}

int line_columns(const ConsoleSettings& settings) {
    return settings.terminal ? settings.width - 1 : columns_of_a_file;
}

std::string duration_text(double seconds) {
    if (seconds < 10.0) return fmt::format("{:.1f} s", std::max(0.0, seconds));
    if (seconds > 1e9) return "years";
    const auto whole = static_cast<long long>(std::llround(seconds));
    if (whole >= 3600)
        return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::optional<double> remaining_seconds(const distributed::StopSettings& stop,
                                        const distributed::GenerationReport& last,
                                        double seconds_per_generation,
                                        double evaluations_per_generation) {
    std::optional<double> result;
    const auto consider = [&](double seconds) {
        result = std::min(result.value_or(seconds), std::max(0.0, seconds));
    };
    const distributed::StopSettings never;
    if (stop.generations != never.generations) {
        const double left =
            static_cast<double>(stop.generations) - static_cast<double>(last.generation + 1);
        consider(left * seconds_per_generation);
    }
    if (stop.evaluations != never.evaluations && evaluations_per_generation > 0.0) {
        const double left =
            static_cast<double>(stop.evaluations) - static_cast<double>(last.evaluations);
        consider(left / evaluations_per_generation * seconds_per_generation);
    }
    if (stop.seconds != never.seconds) consider(stop.seconds - last.elapsed_seconds);
    return result;
}

ConsoleReporter::ConsoleReporter(std::ostream& out, ConsoleSettings settings)
    : out_(out), settings_(std::move(settings)) {
    if (!settings_.seconds) settings_.seconds = steady_seconds;
}

std::string ConsoleReporter::dimmed(const std::string& text) const {
    return settings_.colour ? "\033[2m" + text + "\033[0m" : text;
}

std::string ConsoleReporter::strong(const std::string& text) const {
    return settings_.colour ? "\033[1m" + text + "\033[0m" : text;
}

void ConsoleReporter::started(const distributed::Experiment& experiment,
                              const std::vector<std::string>& rank_lines,
                              std::uint64_t generation) {
    stop_ = experiment.stop;
    unit_ = unit_of(experiment);
    changes_ = experiment.changes;
    if (generation > 0 && !changes_.empty()) task_ = experiment.task_number(generation - 1);
    if (settings_.quiet) return;
    const Network network(first_network(experiment));
    out_ << strong(experiment.name)
         << fmt::format(": task {}, population {}, {} weights, seed {}\n", experiment.task->type(),
                        experiment.population.size, network.weight_count(), experiment.seed);
    out_ << notes_text(*experiment.task);
    for (const std::string& line : rank_lines) out_ << "  " << line << '\n';
    out_ << notes_text(experiment);
    out_ << "  directory " << experiment.directory.string();
    if (generation > 0) out_ << fmt::format(", continued at {} {}", unit_, generation);
    out_ << std::endl;
}

void ConsoleReporter::erase_bar() {
    if (bar_shown_) out_ << "\r\033[K";
    bar_shown_ = false;
}

void ConsoleReporter::progressed(std::uint64_t generation, std::uint64_t done,
                                 std::uint64_t total) {
    if (settings_.quiet || !settings_.terminal) return;
    const double now = settings_.seconds();
    if (bar_at_ >= 0.0 && now - bar_at_ < seconds_on_a_terminal) return;
    bar_at_ = now;
    if (held_ && now - printed_at_ >= seconds_on_a_terminal) print_held();
    constexpr std::uint64_t cells = 24;
    const std::uint64_t filled = total == 0 ? 0 : cells * std::min(done, total) / total;
    std::string line =
        fmt::format("[{}{}] {} {}  {}/{}", std::string(filled, '='),
                    std::string(cells - filled, ' '), unit_, generation, done, total);
    if (!estimate_.empty()) line += "  ETA " + estimate_;
    if (line.size() >= static_cast<std::size_t>(settings_.width))
        line.resize(static_cast<std::size_t>(std::max(1, settings_.width - 1)));
    out_ << '\r' << line << "\033[K" << std::flush;
    bar_shown_ = true;
}

std::string ConsoleReporter::estimate(const distributed::GenerationReport& report) const {
    const auto left = remaining_seconds(stop_, report, mean_seconds_, mean_evaluations_);
    return left ? duration_text(*left) : std::string();
}

void ConsoleReporter::generation_done(const distributed::GenerationReport& report) {
    // Recent generations weigh more: networks grow, and so does their time.
    const double weight = generations_ == 0 ? 1.0 : 0.1;
    mean_seconds_ += weight * (report.seconds - mean_seconds_);
    const double evaluations =
        evaluations_before_
            ? static_cast<double>(report.evaluations - *evaluations_before_)
            : static_cast<double>(report.evaluations) / static_cast<double>(report.generation + 1);
    mean_evaluations_ += (generations_ <= 1 ? 1.0 : 0.1) * (evaluations - mean_evaluations_);
    evaluations_before_ = report.evaluations;
    const bool first = generations_++ == 0;
    estimate_ = estimate(report);
    if (settings_.quiet) return;
    tell_change(report);
    held_ = report;
    if (report.validated) validated_ = report;
    const bool due = settings_.seconds() - printed_at_ >= seconds_between_lines(settings_);
    if (first || due || (report.validated && settings_.terminal)) print_held();
}

void ConsoleReporter::tell_change(const distributed::GenerationReport& report) {
    const std::optional<std::uint64_t> before = std::exchange(task_, report.task);
    if (!report.task || *report.task == before.value_or(0)) return;
    print_held();
    erase_bar();
    out_ << fmt::format(
                "{} {:>5}  the task changes: {}; all are evaluated anew, and the best so "
                "far is that of this task",
                unit_, report.generation, changes_.at(*report.task - 1).text)
         << std::endl;
}

void ConsoleReporter::print_held() {
    if (!held_) return;
    erase_bar();
    if (validated_ && validated_->generation != held_->generation) print(*validated_);
    print(*held_);
    held_.reset();
    validated_.reset();
    printed_at_ = settings_.seconds();
}

void ConsoleReporter::print(const distributed::GenerationReport& report) {
    FittedLine line(line_columns(settings_));
    const auto add = [&](const std::string& text) { line.add(text, dimmed(text)); };
    line.add(fmt::format("{} {:>5}  best {:>9.6g}", unit_, report.generation, report.best));
    const std::string mean = fmt::format("  mean {:>9.6g}", report.mean);
    const std::string value = report.validated ? fmt::format("{:.6g}", *report.validated) : "";
    const std::string validated = report.validated ? "  validated " + value : "";
    if (line.fits(mean + validated)) line.add(mean);
    if (report.validated) line.add(validated, "  validated " + strong(value));
    if (report.invalid > 0) line.add(fmt::format("  invalid {}", report.invalid));
    if (!estimate_.empty()) add("  ETA " + estimate_);
    if (report.species) add(fmt::format("  species {}", report.species->count));
    if (report.complexity)
        add(fmt::format("  genes {:.4g}{}", report.complexity->mean,
                        report.complexity->simplifying > 0 ? " simplifying" : ""));
    add(fmt::format("  evaluations {}", report.evaluations));
    const double rate = report.seconds > 0.0 ? mean_evaluations_ / report.seconds : 0.0;
    const double busy = report.evaluate_seconds + report.vary_seconds + report.wait_seconds;
    add(fmt::format("  {}/s", short_number(rate)));
    add(fmt::format("  {:.3g} s (evaluate {} vary {} wait {})", report.seconds,
                    share(report.evaluate_seconds, busy), share(report.vary_seconds, busy),
                    share(report.wait_seconds, busy)));
    add(fmt::format("  worst {:.6g}", report.worst));
    out_ << line.text() << std::endl;
}

void ConsoleReporter::warning(const std::string& text) {
    erase_bar();
    out_ << (settings_.colour ? "\033[33mwarning:\033[0m " : "warning: ") << text << std::endl;
}

void ConsoleReporter::finished(const distributed::Experiment& experiment,
                               const distributed::RunResult& result) {
    if (settings_.quiet) return;
    print_held();
    erase_bar();
    out_ << result_text(experiment, result) << std::flush;
}

ConsoleTrainingReporter::ConsoleTrainingReporter(std::ostream& out, bool quiet, double interval,
                                                 const distributed::TrainingJob& job)
    : out_(out),
      quiet_(quiet),
      interval_(seconds_between_lines(console_settings(quiet, interval))),
      columns_(line_columns(console_settings(quiet, interval))),
      accuracy_(has_accuracy(job.settings.loss)) {}

void ConsoleTrainingReporter::warning(const std::string& text) {
    out_ << "warning: " << text << std::endl;
}

void ConsoleTrainingReporter::note(const std::string& text) {
    if (!quiet_) out_ << text << '\n';
}

void ConsoleTrainingReporter::started(Part part, const Score& score) {
    if (quiet_) return;
    out_ << "start      " << text(part == Part::validation ? "validation" : "train", score)
         << std::endl;
}

void ConsoleTrainingReporter::epoch_done(const EpochReport& report, std::int64_t best,
                                         double seconds, bool last) {
    const bool due = !printed_ || steady_seconds() - *printed_ >= interval_;
    if (quiet_ || (!due && !last)) return;
    printed_ = steady_seconds();
    const EpochScore& score = report.individuals[static_cast<std::size_t>(best)];
    FittedLine line(columns_);
    line.add(fmt::format("epoch {:>5}", report.epoch));
    line.add(text("train", score.train));
    if (score.validation) line.add(text("validation", *score.validation));
    std::int64_t skipped = 0;
    for (const EpochScore& each : report.individuals) skipped += each.skipped;
    if (skipped > 0) line.add(fmt::format("  {} steps skipped", skipped));
    if (report.individuals.size() > 1) line.add(fmt::format("  individual {}", best));
    line.add(fmt::format("  rate {:.3g}", score.learning_rate));
    line.add(fmt::format("  {:.3f} s", seconds));
    out_ << line.text() << std::endl;
}

std::string ConsoleTrainingReporter::text(const char* what, const Score& score) const {
    std::string result = fmt::format("  {} {:.6g}", what, score.loss);
    if (accuracy_) result += fmt::format(" ({:.2f}%)", 100.0 * score.accuracy);
    return result;
}

}  // namespace cambrian::launch
