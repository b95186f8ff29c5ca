#include "cambrian/engine/train/trainer/implementation.hpp"

#include <cmath>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

// Rows of an evaluation's batch, at least: more work for each of the few programs it runs.
constexpr std::int64_t evaluation_rows = 256;

}  // namespace

std::optional<EpochReport> Trainer::Implementation::run_epoch(const std::function<bool()>& go_on) {
    CAMBRIAN_ASSERT(!finished());
    if (epochs_done_ == 0 && next_batch_ == 0 && start_is_given()) judge_start();
    write_order();
    write_rates();
    write_shared("batch", ValueType::integer, static_cast<double>(next_batch_));
    if (next_batch_ == 0) clear_sums();
    write_shared("position", ValueType::integer,
                 static_cast<double>(next_batch_ * settings_.batch));
    for (; next_batch_ < step_.batches(); ++next_batch_) {
        if (go_on && !go_on()) return std::nullopt;
        observe(next_batch_);
        run(step_.batch(next_batch_));
    }
    next_batch_ = 0;

    EpochReport report{.epoch = ++epochs_done_, .individuals = {}};
    const std::vector<Score> scores = read_scores();
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
    } else if (step_.batches() == 1 || start_is_given()) {
        // The loss of a single step is of the weights before it: nothing of the ones it made. That
        // of several is of weights that change, which says little beside that of the start.
        const std::vector<Score> after = evaluate(Part::train, Snapshot::now);
        for (std::size_t i = 0; i < scores.size(); ++i)
            report.individuals[i].watched = after[i].loss;
    }
    judge(report);
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

std::vector<Score> Trainer::Implementation::read_scores() const {
    const double count = read_sum("sum.count")[0];
    std::vector<Score> scores;
    for (const double loss : read_sum("sum.loss"))
        scores.push_back({.loss = loss / std::max(count, 1.0)});
    if (!has_accuracy(settings_.loss)) return scores;
    const std::vector<double> right = read_sum("sum.right");
    for (std::size_t i = 0; i < scores.size(); ++i)
        scores[i].accuracy = right[i] / std::max(count, 1.0);
    return scores;
}

std::vector<Score> Trainer::Implementation::evaluate(Part part, Snapshot snapshot) {
    if (samples(part).rows() == 0)
        throw ConfigError(fmt::format(
            "there is nothing to evaluate (the {} part has no rows) choose another part",
            name(part)));
    const auto [entry, added] = evaluations_.try_emplace({part, snapshot});
    if (added) {
        const bool known = buffers_.contains(fmt::format("{}.inputs", name(part)));
        entry->second =
            walk(part, std::max(settings_.batch, evaluation_rows), [&](std::int64_t rows) {
                return training_graphs::evaluation(network_, settings_.loss, samples(part),
                                                   name(part), weights_name(snapshot), rows);
            });
        if (!known) upload(part);
    }
    const Walk& parts = entry->second;
    const std::vector<Tensor> of_epoch = read_all(sums());
    const std::vector<Tensor> lost_of_epoch = read_all(lost_sums());
    clear_sums();
    for (std::int64_t batch = 0; batch < parts.batches(); ++batch) run(parts.batch(batch));
    const std::vector<Score> scores = read_scores();
    write_all(sums(), of_epoch);
    write_all(lost_sums(), lost_of_epoch);
    return scores;
}

void Trainer::Implementation::judge_start() {
    const Part part = data_.validation.rows() > 0 ? Part::validation : Part::train;
    const std::vector<Score> scores = evaluate(part, Snapshot::now);
    // One without a finite loss is worse than any epoch, and no reason to stop.
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (std::isfinite(scores[i].loss) && std::isinf(individuals_[i].best()))
            static_cast<void>(individuals_[i].report(scores[i].loss));
}

void Trainer::Implementation::judge(EpochReport& report) {
    for (std::size_t i = 0; i < individuals_.size(); ++i) {
        EpochScore& score = report.individuals[i];
        score.best = individuals_[i].report(score.watched);
        score.stopped = !individuals_[i].active();
    }
    write("improved", ValueType::boolean,
          of_each([&](std::size_t i) { return report.individuals[i].best; }));
    run(keep_best_);
}

}  // namespace cambrian
