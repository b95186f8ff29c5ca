#include "cambrian/launch/show/training_reporter.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ostream>

#include "cambrian/launch/show/console_reporter.hpp"

namespace cambrian::launch {
namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace

ConsoleTrainingReporter::ConsoleTrainingReporter(std::ostream& out, bool quiet, double interval,
                                                 const distributed::TrainingJob& job)
    : out_(out),
      quiet_(quiet),
      interval_(seconds_between_lines(console_settings(quiet, interval))),
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
    const bool due = !printed_ || now() - *printed_ >= interval_;
    if (quiet_ || (!due && !last)) return;
    printed_ = now();
    const EpochScore& score = report.individuals[static_cast<std::size_t>(best)];
    std::string line = fmt::format("epoch {:>5}{}", report.epoch, text("train", score.train));
    if (score.validation) line += text("validation", *score.validation);
    line += fmt::format("  rate {:.3g}  {:.3f} s", score.learning_rate, seconds);
    if (report.individuals.size() > 1) line += fmt::format("  individual {}", best);
    std::int64_t skipped = 0;
    for (const EpochScore& each : report.individuals) skipped += each.skipped;
    if (skipped > 0) line += fmt::format("  {} steps skipped", skipped);
    out_ << line << std::endl;
}

std::string ConsoleTrainingReporter::text(const char* what, const Score& score) const {
    std::string result = fmt::format("  {} {:.6g}", what, score.loss);
    if (accuracy_) result += fmt::format(" ({:.2f}%)", 100.0 * score.accuracy);
    return result;
}

}  // namespace cambrian::launch
