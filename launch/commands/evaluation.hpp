#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cambrian/distributed/experiment.hpp"
#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/evolve/evaluation/answers.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/network_sources.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/show/evaluation_text.hpp"

namespace cambrian::launch {

/// A round that no run reaches, so that its draws are new to every network.
inline constexpr std::uint64_t unseen_round = std::uint64_t{1} << 40U;

/// What to evaluate on.
struct EvaluationSetting {
    ResolvedConfig config;
    distributed::Experiment experiment;
    std::shared_ptr<const evolve::Task> task;
    evolve::Phase phase = evolve::Phase::train;
};

/// Networks of one task as few programs. Everything must outlive it.
class NetworkEvaluation {
  public:
    NetworkEvaluation(Backend& backend, const EvaluationSetting& setting,
                      const std::vector<SourceNetwork>& networks);

    /// On draws that no run has seen.
    [[nodiscard]] std::vector<evolve::Evaluation> fitness() const;
    /// Of one network, as the task counts right answers.
    [[nodiscard]] std::optional<double> accuracy(std::size_t network) const;
    /// The labelled rows of a phase; null: the task has none.
    [[nodiscard]] std::shared_ptr<const evolve::LabelledRows> rows(evolve::Phase phase) const;
    /// What all networks answer to them.
    [[nodiscard]] std::vector<evolve::Answers> answers(const evolve::LabelledRows& rows) const;

    [[nodiscard]] const EvaluationSetting& setting() const { return setting_; }
    [[nodiscard]] const std::vector<SourceNetwork>& networks() const { return networks_; }

  private:
    Backend& backend_;
    const EvaluationSetting& setting_;
    const std::vector<SourceNetwork>& networks_;
    evolve::Family family_;
    std::vector<const evolve::Genome*> genomes_;
};

/// What all of them reach, alone, together and in pairs, as options ask. Throws ConfigError where
/// they cannot answer together.
[[nodiscard]] EvaluationTable evaluation_table(const EvaluateOptions& options,
                                               const NetworkEvaluation& evaluation);

}  // namespace cambrian::launch
