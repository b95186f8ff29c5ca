#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "cambrian/evolve/runs/training_run.hpp"

namespace cambrian::launch {

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
    bool accuracy_;
    std::optional<double> printed_;  ///< When the last line was.
};

}  // namespace cambrian::launch
