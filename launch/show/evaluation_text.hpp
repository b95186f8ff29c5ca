#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/evolve/analysis/ensemble.hpp"
#include "cambrian/evolve/analysis/metrics.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {

/// What `cambrian evaluate` found of one network, or of several that answer together.
struct EvaluatedNetwork {
    std::string name;
    std::optional<evolve::Evaluation> evaluation;  ///< None of several together.
    std::optional<double> accuracy{};              ///< As the task itself counts right answers.
    std::optional<evolve::Answers> answers{};  ///< Of labelled rows, where the fitness is valid.
};

struct EvaluationTable {
    std::string task;
    std::string phase;
    bool loss = false;                     ///< Fitness is minus a loss.
    std::optional<evolve::Truth> truth{};  ///< Of tasks with labelled rows.
    std::vector<EvaluatedNetwork> networks{};
    std::string ensemble{};  ///< How they answer together; empty: they do not.
    std::optional<EvaluatedNetwork> together{};
    std::vector<double> weights{};  ///< Of a weighted ensemble.
    bool asked_pairs = false;
    std::vector<evolve::ComplementaryPair> pairs{};  ///< As many as asked for.
};

/// Every metric of the answers, scores and confusion of classes with their reliability, or buckets
/// of deviations, a line each.
[[nodiscard]] std::string metrics_text(const evolve::Truth& truth, const evolve::Answers& answers);
/// Networks side by side: a column for each, a row for each measure, the best of a row marked, and
/// complementary pairs after it.
[[nodiscard]] std::string table_text(const EvaluationTable& table);
/// Everything. What is not finite is null.
[[nodiscard]] Json to_json(const EvaluationTable& table);

}  // namespace cambrian::launch
