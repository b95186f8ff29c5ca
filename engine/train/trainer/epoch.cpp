#include "cambrian/engine/train/trainer/implementation.hpp"

#include <cmath>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"

namespace cambrian {
namespace {

using training_graphs::epoch_sums;
using training_graphs::evaluation_sums;

// Rows of an evaluation's batch, where they fit: more work for each of the few programs it runs.
constexpr std::int64_t max_evaluation_rows = 256;
// Elements that an evaluation may compute for an individual, however few weights it has.
constexpr std::int64_t small_evaluation = std::int64_t{1} << 18U;

}  // namespace

std::optional<EpochReport> Trainer::Implementation::run_epoch(const std::function<bool()>& go_on) {
    CAMBRIAN_ASSERT(!finished());
    try_evaluations();
    if (epochs_done_ == 0 && next_batch_ == 0 && start_is_given()) judge_start();
    write_order();
    write_rates();
    write_shared("batch", ValueType::integer, static_cast<double>(next_batch_));
    if (next_batch_ == 0) clear_sums(epoch_sums);
    write_shared("position", ValueType::integer,
                 static_cast<double>(next_batch_ * settings_.batch));
    for (; next_batch_ < step_.batches(); ++next_batch_) {
        if (go_on && !go_on()) return std::nullopt;
        observe(next_batch_);
        run(step_.batch(next_batch_));
    }

    EpochReport report{.epoch = epochs_done_ + 1, .individuals = {}};
    const std::vector<Score> scores = read_scores(epoch_sums);
    const std::vector<std::vector<SlotAim>> aims = read_aims();
    const std::vector<double> skipped = read_sum("sum.skipped");
    const std::vector<double> rates = buffers_.read("rate").elements;
    const double factor = buffers_.read("factors").elements.back();
    for (std::size_t i = 0; i < scores.size(); ++i)
        report.individuals.push_back({.train = scores[i],
                                      .validation = {},
                                      .watched = scores[i].loss,
                                      .learning_rate = rates[i] * factor,
                                      .skipped = static_cast<std::int64_t>(skipped[i]),
                                      .aims = aims[i]});
    if (data_.validation.rows() > 0) {
        const std::vector<Score> validation = evaluate(Part::validation, Snapshot::now);
        for (std::size_t i = 0; i < scores.size(); ++i) {
            report.individuals[i].validation = validation[i];
            report.individuals[i].watched = validation[i].loss;
        }
    } else if (measures_train()) {
        const std::vector<Score> after = evaluate(Part::train, Snapshot::now);
        for (std::size_t i = 0; i < scores.size(); ++i)
            report.individuals[i].watched = after[i].loss;
    }
    judge(report);
    next_batch_ = 0;
    ++epochs_done_;
    return report;
}

auto Trainer::Implementation::watched(std::int64_t rows) -> Watched& {
    const auto known = watch_.programs.find(rows);
    if (known != watch_.programs.end()) return known->second;
    ObservedGraph observed =
        training_graphs::observation(network_, settings_.loss, data_.train, rows);
    const Graph& graph = observed.graph();
    OutputBuffers statistics(backend_, graph, population());
    Bound bound{backend_.compile(graph), buffers_.bind(graph, population(), statistics.bindings())};
    return watch_.programs
        .emplace(rows, Watched{std::move(observed), std::move(statistics), std::move(bound)})
        .first->second;
}

void Trainer::Implementation::observe(std::int64_t batch) {
    const std::int64_t step = epochs_done_ * step_.batches() + batch + 1;
    if (watch_.every == 0 || step % watch_.every != 0) return;
    const Watched& program =
        watched(batch < step_.whole ? settings_.batch : data_.train.rows() % settings_.batch);
    run(program.bound);
    for (const Observation& observation :
         program.observed.read(step, population(), program.statistics.read(backend_)))
        watch_.observer->observe(observation);
}

std::vector<std::vector<SlotAim>> Trainer::Implementation::read_aims() const {
    std::vector<std::vector<SlotAim>> all(individuals_.size());
    if (!buffers_.contains("sum.budget")) return all;
    const std::vector<int> slots = aiming_slots(network_);
    const std::vector<double> budgets = read_sum("sum.budget");
    const std::vector<double> gaps = read_sum("sum.gap");
    const auto steps = static_cast<double>(step_.batches());
    for (std::size_t i = 0, next = 0; i < all.size(); ++i)
        for (const int slot : slots) {
            all[i].push_back({slot, budgets[next] / steps, gaps[next] / steps});
            ++next;
        }
    return all;
}

std::vector<Score> Trainer::Implementation::read_scores(std::string_view sums) const {
    const auto all = [&](const char* what) { return read_sum(fmt::format("{}.{}", sums, what)); };
    const double count = all("count")[0];
    std::vector<Score> scores;
    for (const double loss : all("loss")) scores.push_back({.loss = loss / std::max(count, 1.0)});
    if (!has_accuracy(settings_.loss)) return scores;
    const std::vector<double> right = all("right");
    for (std::size_t i = 0; i < scores.size(); ++i)
        scores[i].accuracy = right[i] / std::max(count, 1.0);
    return scores;
}

std::vector<Score> Trainer::Implementation::evaluate(Part part, Snapshot snapshot) {
    if (samples(part).rows() == 0)
        throw ConfigError(fmt::format(
            "there is nothing to evaluate (the {} part has no rows) choose another part",
            name(part)));
    const Walk& parts = evaluation(part, snapshot);
    return measured(parts, parts.batches());
}

/// Shapes decide, not the memory that is free, nor what kernels a backend has: a loss has the same
/// bits everywhere. A step holds a gradient of each weight, so that as many elements fit.
template <class GraphOf>
std::int64_t Trainer::Implementation::evaluation_rows(Part part, const GraphOf& graph_of) const {
    const std::int64_t fit = std::max(network_.weight_count(), small_evaluation);
    std::int64_t rows = std::min(samples(part).rows(), max_evaluation_rows);
    while (rows > settings_.batch && computed_elements(lower(graph_of(rows), is_elementwise)) > fit)
        rows /= 2;
    return std::max(rows, settings_.batch);
}

auto Trainer::Implementation::evaluation(Part part, Snapshot snapshot) -> const Walk& {
    const auto known = evaluations_.find({part, snapshot});
    if (known != evaluations_.end()) return known->second;
    const auto graph_of = [&](std::int64_t rows) {
        return training_graphs::evaluation(network_, settings_.loss, samples(part), name(part),
                                           weights_name(snapshot), rows);
    };
    Walk parts = walk(part, evaluation_rows(part, graph_of), graph_of);
    // Those to train on are there for the steps.
    if (part != Part::train) upload(part);
    return evaluations_.emplace(std::pair{part, snapshot}, std::move(parts)).first->second;
}

void Trainer::Implementation::prepare_evaluations() {
    if (data_.validation.rows() > 0)
        evaluation(Part::validation, Snapshot::now);
    else
        evaluation(Part::train, Snapshot::best);
    if (measures_train()) evaluation(Part::train, Snapshot::now);
}

void Trainer::Implementation::try_evaluations() {
    if (tried_evaluations_) return;
    for (const auto& [of, parts] : evaluations_) measured(parts, 1);
    tried_evaluations_ = true;
}

std::vector<Score> Trainer::Implementation::measured(const Walk& parts, std::int64_t batches) {
    clear_sums(evaluation_sums);
    write_shared("position", ValueType::integer, 0.0);
    for (std::int64_t batch = 0; batch < batches; ++batch) run(parts.batch(batch));
    return read_scores(evaluation_sums);
}

void Trainer::Implementation::judge_start() {
    const Part part = data_.validation.rows() > 0 ? Part::validation : Part::train;
    const std::vector<Score> scores = evaluate(part, Snapshot::now);
    // One without a finite loss is worse than any epoch, and no reason to stop.
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (std::isfinite(scores[i].loss) && std::isinf(individuals_[i].best()))
            static_cast<void>(individuals_[i].report(0, scores[i].loss));
}

void Trainer::Implementation::judge(EpochReport& report) {
    std::vector<TrainingProgress> judged = individuals_;
    for (std::size_t i = 0; i < judged.size(); ++i) {
        EpochScore& score = report.individuals[i];
        score.best = judged[i].report(report.epoch, score.watched);
        score.stopped = !judged[i].active();
    }
    write("improved", ValueType::boolean,
          of_each([&](std::size_t i) { return report.individuals[i].best; }));
    run(keep_best_);
    // The last thing that may fail is done: an epoch is not judged twice.
    individuals_ = std::move(judged);
}

}  // namespace cambrian
