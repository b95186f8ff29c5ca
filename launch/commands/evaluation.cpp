#include "cambrian/launch/commands/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::launch {
namespace {

using evolve::Phase;

/// Where weights of votes are measured: not on the rows that are judged, where there are others.
Phase weighing_phase(const EvaluationSetting& setting) {
    const bool validates = setting.task->signature().validates;
    return validates && setting.phase != Phase::validation ? Phase::validation : Phase::train;
}

/// Accuracy, or of numbers one through the mean squared error.
std::vector<double> measured_weights(const NetworkEvaluation& evaluation) {
    constexpr double least_error = 1e-100;
    const auto rows = evaluation.rows(weighing_phase(evaluation.setting()));
    CAMBRIAN_EXPECT(rows != nullptr);
    const evolve::Truth truth = evolve::truth_of(*rows);
    const evolve::Metric& metric = evolve::metric(truth.classes ? "accuracy" : "mse");
    std::vector<double> weights;
    for (const evolve::Answers& answers : evaluation.answers(*rows)) {
        const double value = metric.of(truth, answers).value_or(0.0);
        const double weight = truth.classes ? value : 1.0 / std::max(value, least_error);
        weights.push_back(std::isfinite(weight) ? weight : 0.0);
    }
    return weights;
}

/// Throws ConfigError where these networks cannot answer together.
void check_together(const EvaluationTable& table, const std::string& what) {
    if (!table.truth)
        throw ConfigError(fmt::format(
            "{} is given (task {} has no rows with right answers) leave it out", what, table.task));
    if (table.truth->targets.empty())
        throw ConfigError(what + " is given (no row counts) choose another --phase");
    for (const EvaluatedNetwork& network : table.networks)
        if (!network.answers)
            throw ConfigError(fmt::format(
                "{} is given ({} gives numbers that are not finite) leave that network out", what,
                network.name));
}

void add_ensemble(const EvaluateOptions& options, const NetworkEvaluation& evaluation,
                  EvaluationTable& table) {
    if (options.ensemble.empty()) return;
    check_together(table, "--ensemble");
    const evolve::Ensemble how = ensemble_of(options.ensemble, table.truth->classes);
    if (how == evolve::Ensemble::weighted)
        table.weights = options.weights.empty() ? measured_weights(evaluation) : options.weights;
    if (how == evolve::Ensemble::weighted)
        check_ensemble_weights(table.weights, table.networks.size());
    std::vector<const evolve::Answers*> members;
    for (const EvaluatedNetwork& network : table.networks) members.push_back(&*network.answers);
    table.ensemble = options.ensemble;
    table.together = EvaluatedNetwork{
        .name = options.ensemble,
        .evaluation = std::nullopt,
        .answers = evolve::ensemble_answers(how, table.truth->classes, table.truth->width, members,
                                            table.weights)};
    if (how == evolve::Ensemble::weighted && options.weights.empty())
        table.ensemble +=
            fmt::format(" by {} of the {} rows", table.truth->classes ? "accuracy" : "1 / mse",
                        evolve::name(weighing_phase(evaluation.setting())));
}

void add_pairs(const EvaluateOptions& options, EvaluationTable& table) {
    if (options.pairs == 0) return;
    check_together(table, "--pairs");
    if (table.networks.size() < 2)
        throw ConfigError("--pairs is given (there is one network) name another one, or a run");
    std::vector<std::vector<std::uint8_t>> right;
    for (const EvaluatedNetwork& network : table.networks)
        right.push_back(evolve::right_answers(*table.truth, *network.answers));
    table.asked_pairs = true;
    table.pairs = evolve::complementary_pairs(right, options.coverage, options.pairs);
}

}  // namespace

NetworkEvaluation::NetworkEvaluation(Backend& backend, const EvaluationSetting& setting,
                                     const std::vector<SourceNetwork>& networks)
    : backend_(backend),
      setting_(setting),
      networks_(networks),
      family_(evolve::family_of(setting.experiment.family, setting.experiment.variation)) {
    for (const SourceNetwork& network : networks) genomes_.push_back(&network.file.genome);
}

std::vector<evolve::Evaluation> NetworkEvaluation::fitness() const {
    evolve::Evaluator evaluator(backend_, *setting_.task, setting_.experiment.seed, family_);
    return evaluator.evaluate(genomes_, {setting_.phase, unseen_round});
}

std::optional<double> NetworkEvaluation::accuracy(std::size_t network) const {
    return evolve::accuracy(backend_, *setting_.task, *genomes_[network], setting_.experiment.seed,
                            {setting_.phase, unseen_round});
}

std::shared_ptr<const evolve::LabelledRows> NetworkEvaluation::rows(Phase phase) const {
    return evolve::labelled_rows(*setting_.task, phase);
}

std::vector<evolve::Answers> NetworkEvaluation::answers(const evolve::LabelledRows& rows) const {
    return evolve::answers_of(backend_, family_, rows, genomes_);
}

EvaluationTable evaluation_table(const EvaluateOptions& options,
                                 const NetworkEvaluation& evaluation) {
    const EvaluationSetting& setting = evaluation.setting();
    EvaluationTable table{.task = std::string(setting.task->type()),
                          .phase = std::string(evolve::name(setting.phase)),
                          .loss = setting.task->signature().loss};
    const std::vector<evolve::Evaluation> all = evaluation.fitness();
    for (std::size_t i = 0; i < all.size(); ++i)
        table.networks.push_back({evaluation.networks()[i].name, all[i]});
    const auto valid = [&](std::size_t i) { return all[i].status == evolve::Status::ok; };
    if (const auto rows = evaluation.rows(setting.phase)) {
        table.truth = evolve::truth_of(*rows);
        std::vector<evolve::Answers> answers = evaluation.answers(*rows);
        for (std::size_t i = 0; i < all.size(); ++i)
            if (valid(i)) table.networks[i].answers = std::move(answers[i]);
    } else {
        for (std::size_t i = 0; i < all.size(); ++i)
            if (valid(i)) table.networks[i].accuracy = evaluation.accuracy(i);
    }
    add_ensemble(options, evaluation, table);
    add_pairs(options, table);
    return table;
}

evolve::Ensemble ensemble_of(const std::string& name, bool classes) {
    const auto& names = evolve::ensemble_names;
    const auto found = std::ranges::find(names, name);
    CAMBRIAN_EXPECT(found != names.end());
    const auto how = static_cast<evolve::Ensemble>(found - names.begin());
    if (how == evolve::Ensemble::majority && !classes)
        throw ConfigError(
            "--ensemble is majority (the answers are numbers, which have no votes) use mean or "
            "weighted");
    return how;
}

void check_ensemble_weights(const std::vector<double>& weights, std::size_t networks) {
    if (weights.size() != networks)
        throw ConfigError(fmt::format("--weights has {} (there are {} networks) give one for each",
                                      weights.size(), networks));
    double sum = 0.0;
    for (const double weight : weights) {
        if (!std::isfinite(weight) || weight < 0.0)
            throw ConfigError(fmt::format(
                "--weights has {} (a weight is finite and at least 0) correct it", weight));
        sum += weight;
    }
    if (!(sum > 0.0) || !std::isfinite(sum))
        throw ConfigError(fmt::format(
            "the weights of the networks add up to {} (they are shares of their sum) give other "
            "ones with --weights, or use --ensemble mean",
            sum));
}

}  // namespace cambrian::launch
