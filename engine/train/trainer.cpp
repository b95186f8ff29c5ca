#include "cambrian/engine/train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "cambrian/engine/backend/host_copy.hpp"
#include "cambrian/engine/backend/named_buffers.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/engine/train/targets.hpp"
#include "cambrian/engine/train/training_graphs.hpp"

namespace cambrian {
namespace {

// Rows of an evaluation's batch, at least: more work for each of the few programs it runs.
constexpr std::int64_t evaluation_rows = 256;

/// A compiled graph beside the buffers it works on.
struct Bound {
    std::unique_ptr<Program> program;
    NamedBuffers::Bindings bindings;
};

/// Programs that together walk over all rows of some samples: whole batches and a rest.
struct Walk {
    std::int64_t whole = 0;  ///< Batches of full size.
    std::optional<Bound> full;
    std::optional<Bound> rest;

    [[nodiscard]] std::int64_t batches() const { return whole + (rest ? 1 : 0); }
    [[nodiscard]] const Bound& batch(std::int64_t index) const {
        return index < whole ? *full : *rest;
    }
};

/// A compiled observation and the buffers of its statistics.
struct Watched {
    ObservedGraph observed;
    OutputBuffers statistics;
    Bound bound;
};

/// Who is told of which steps, and the programs for batches of so many rows.
struct Watch {
    std::int64_t every = 0;  ///< 0: never.
    Observer* observer = nullptr;
    std::map<std::int64_t, Watched> programs;
};

}  // namespace

std::string_view name(Part part) {
    static constexpr std::array<std::string_view, 3> names{"train", "validation", "test"};
    return names[static_cast<std::size_t>(part)];
}

class Trainer::Implementation {
  public:
    Implementation(Backend& backend, const Network& network, const DataSet& data,
                   TrainingSettings settings)
        : backend_(backend),
          network_(network),
          data_(data),
          settings_(std::move(settings)),
          buffers_(backend) {
        check(settings_);
        if (data.train.rows() == 0)
            throw ConfigError(
                "there are no samples to train on (the train part has no rows) "
                "give it some");
        for (const Part part : {Part::train, Part::validation, Part::test})
            if (samples(part).rows() > 0)
                training_graphs::check_fit(network, settings_.loss, samples(part), name(part));
        if (settings_.method != TrainingMethod::gradient)
            check_traceable(network, data.train.inputs.shape);
        individuals_.assign(settings_.learning_rates.size(),
                            TrainingProgress(settings_.schedule, settings_.early_stop));
        step_ = walk(Part::train, settings_.batch, [&](std::int64_t rows) {
            return training_graphs::step(network_, settings_, data_.train, rows);
        });
        keep_best_ = bound(training_graphs::keep_best(network_));
        upload(Part::train);
        draw_weights();
    }

    std::int64_t population() const { return static_cast<std::int64_t>(individuals_.size()); }
    std::int64_t epochs_done() const { return epochs_done_; }
    const TrainingProgress& individual(std::int64_t index) const {
        CAMBRIAN_ASSERT(index >= 0 && index < population());
        return individuals_[static_cast<std::size_t>(index)];
    }
    bool finished() const {
        return epochs_done_ >= settings_.epochs ||
               std::ranges::none_of(individuals_, &TrainingProgress::active);
    }

    void watch(std::int64_t every, Observer& observer) {
        CAMBRIAN_ASSERT(every >= 1);
        watch_.every = every;
        watch_.observer = &observer;
    }
    std::optional<EpochReport> run_epoch(const std::function<bool()>& go_on);
    std::vector<Score> evaluate(Part part, Snapshot snapshot);
    void save(ArchiveWriter& to) const;
    void restore(ArchiveReader& from);

    std::vector<float> weights(std::int64_t index, Snapshot snapshot) const {
        CAMBRIAN_ASSERT(index >= 0 && index < population());
        const std::int64_t count = network_.weight_count();
        std::vector<float> result(static_cast<std::size_t>(count));
        backend_.download(buffers_.at(weights_name(snapshot)), index * count,
                          std::span<float>(result));
        return result;
    }
    std::int64_t peak_bytes() const { return step_.batch(0).program->peak_bytes(population()); }

  private:
    static std::string_view weights_name(Snapshot snapshot) {
        return snapshot == Snapshot::now ? training_graphs::weights : training_graphs::best_weights;
    }
    const Samples& samples(Part part) const {
        return part == Part::train        ? data_.train
               : part == Part::validation ? data_.validation
                                          : data_.test;
    }

    Bound bound(const Graph& graph) {
        Bound result{backend_.compile(graph), buffers_.bind(graph, population(), {})};
        return result;
    }
    void run(const Bound& bound) {
        bound.program->run(population(), bound.bindings.inputs, bound.bindings.outputs);
    }

    template <class GraphOf>
    Walk walk(Part part, std::int64_t batch, const GraphOf& graph_of) {
        const std::int64_t rows = samples(part).rows();
        Walk result{.whole = rows / batch, .full = {}, .rest = {}};
        if (result.whole > 0) result.full = bound(graph_of(batch));
        if (rows % batch > 0) result.rest = bound(graph_of(rows % batch));
        return result;
    }

    void upload(Part part) {
        buffers_.write(fmt::format("{}.inputs", name(part)), samples(part).inputs);
        buffers_.write(fmt::format("{}.targets", name(part)), samples(part).targets);
    }
    void draw_weights();
    void draw_inverses();
    /// Uploads a key for each individual.
    void write_keys(std::string_view name, std::string_view purpose);
    [[nodiscard]] bool start_is_given() const { return !settings_.initial_weights.empty(); }
    /// Makes a given start the best so far.
    void judge_start();
    /// Names of the buffers that outlast an epoch, and of those that add up what one did so far
    /// (none between two).
    std::vector<std::string> lasting() const;
    std::vector<std::string> sums() const;
    std::vector<Tensor> read_all(std::span<const std::string> names) const;
    void write_all(std::span<const std::string> names, std::span<const Tensor> values);
    void write_order();
    void write_rates();

    /// One number for each individual, or the one that they share.
    void write(std::string_view name, ValueType type, std::vector<double> values) {
        const auto count = static_cast<std::int64_t>(values.size());
        buffers_.write(name, Tensor(type, Shape{count}, std::move(values)));
    }
    void write_shared(std::string_view name, ValueType type, double value) {
        buffers_.write(name, Tensor::scalar(value, type));
    }
    template <class Value>
    std::vector<double> of_each(const Value& value) const {
        std::vector<double> result;
        for (std::size_t i = 0; i < individuals_.size(); ++i)
            result.push_back(static_cast<double>(value(i)));
        return result;
    }

    /// Tells the observer of the step on a batch, where it wants to know.
    void observe(std::int64_t batch);
    Watched& watched(std::int64_t rows);

    void clear_sums();
    std::vector<Score> read_scores() const;
    std::vector<std::vector<SlotAim>> read_aims() const;
    /// Decides for every individual whether this was its best epoch and whether it goes on.
    void judge(EpochReport& report);

    Backend& backend_;
    const Network network_;
    const DataSet& data_;
    const TrainingSettings settings_;
    NamedBuffers buffers_;
    Walk step_;
    Bound keep_best_;
    std::map<std::pair<Part, Snapshot>, Walk> evaluations_;
    std::vector<TrainingProgress> individuals_;
    std::int64_t epochs_done_ = 0;
    std::int64_t next_batch_ = 0;  ///< Of the epoch that goes on; 0 between two.
    Watch watch_;
};

void Trainer::Implementation::draw_weights() {
    CAMBRIAN_EXPECT(!start_is_given() ||
                    network_.weight_count() ==
                        static_cast<std::int64_t>(settings_.initial_weights.size()));
    std::vector<float> all;
    for (std::uint64_t i = 0; i < individuals_.size(); ++i) {
        RandomStream stream(random_key(settings_.seed, "train/weights"),
                            settings_.first_individual + i);
        const std::vector<float> own =
            start_is_given() ? settings_.initial_weights : network_.initial_weights(stream);
        all.insert(all.end(), own.begin(), own.end());
    }
    for (const Snapshot snapshot : {Snapshot::now, Snapshot::best})
        backend_.upload(buffers_.at(weights_name(snapshot)), 0, std::span<const float>(all));
    write_keys("noise", "train/noise");
    if (buffers_.contains(training_graphs::inverses)) draw_inverses();
}

void Trainer::Implementation::draw_inverses() {
    const std::vector<Inverse> inverses = inverses_of(network_);
    std::vector<float> all;
    for (std::uint64_t i = 0; i < individuals_.size(); ++i) {
        RandomStream stream(random_key(settings_.seed, "train/inverses"),
                            settings_.first_individual + i);
        const std::vector<float> own =
            initial_weights(inverses, settings_.targets.inverse_activation, stream);
        all.insert(all.end(), own.begin(), own.end());
    }
    backend_.upload(buffers_.at(training_graphs::inverses), 0, std::span<const float>(all));
    write_keys(training_graphs::inverse_noise, "train/inverse_noise");
}

void Trainer::Implementation::write_keys(std::string_view name, std::string_view purpose) {
    std::vector<std::int32_t> keys;
    for (std::uint64_t i = 0; i < individuals_.size(); ++i) {
        const RandomKey key = random_key(settings_.seed, purpose, settings_.first_individual + i);
        keys.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(key.value)));
        keys.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(key.value >> 32)));
    }
    backend_.upload(buffers_.at(name), 0, std::span<const std::int32_t>(keys));
}

/// A fresh order of the rows for every epoch, the same for all individuals.
void Trainer::Implementation::write_order() {
    std::vector<double> order(static_cast<std::size_t>(data_.train.rows()));
    std::iota(order.begin(), order.end(), 0.0);
    RandomStream stream(random_key(settings_.seed, "train/order"),
                        static_cast<std::uint64_t>(epochs_done_));
    for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[stream.index(static_cast<std::uint32_t>(left))]);
    write("order", ValueType::integer, std::move(order));
}

void Trainer::Implementation::write_rates() {
    write("rate", ValueType::real, of_each([&](std::size_t i) {
              return settings_.learning_rates[i] * static_cast<double>(individuals_[i].factor());
          }));
    write("active", ValueType::boolean,
          of_each([&](std::size_t i) { return individuals_[i].active(); }));
    const std::int64_t batches = step_.batches();
    std::vector<double> factors;
    for (std::int64_t batch = 0; batch < batches; ++batch) {
        // The middle of the step: neither the first nor the last one has the rate of an end, which
        // often is 0.
        const double done = static_cast<double>(epochs_done_) +
                            (static_cast<double>(batch) + 0.5) / static_cast<double>(batches);
        factors.push_back(static_cast<double>(
            rate_factor(settings_.schedule, done, static_cast<double>(settings_.epochs))));
    }
    write("factors", ValueType::real, std::move(factors));
}

Watched& Trainer::Implementation::watched(std::int64_t rows) {
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

void Trainer::Implementation::clear_sums() {
    write_shared("position", ValueType::integer, 0.0);
    write_shared("sum.count", ValueType::real, 0.0);
    for (const char* sum : {"sum.loss", "sum.right", "sum.skipped"})
        if (buffers_.contains(sum))
            write(sum, ValueType::real, std::vector<double>(individuals_.size(), 0.0));
    for (const char* sum : {"sum.budget", "sum.gap"})
        if (buffers_.contains(sum)) {
            const Tensor before = buffers_.read(sum);
            buffers_.write(sum, Tensor(ValueType::real, before.shape));
        }
}

std::vector<std::vector<SlotAim>> Trainer::Implementation::read_aims() const {
    std::vector<std::vector<SlotAim>> all(individuals_.size());
    if (!buffers_.contains("sum.budget")) return all;
    const std::vector<int> slots = aiming_slots(network_);
    const std::vector<double> budgets = buffers_.read("sum.budget").elements;
    const std::vector<double> gaps = buffers_.read("sum.gap").elements;
    const auto steps = static_cast<double>(step_.batches());
    for (std::size_t i = 0, next = 0; i < all.size(); ++i)
        for (const int slot : slots) {
            all[i].push_back({slot, budgets[next] / steps, gaps[next] / steps});
            ++next;
        }
    return all;
}

std::vector<Score> Trainer::Implementation::read_scores() const {
    const double count = buffers_.read("sum.count").elements[0];
    const Tensor losses = buffers_.read("sum.loss");
    std::vector<Score> scores;
    for (const double loss : losses.elements)
        scores.push_back({.loss = loss / std::max(count, 1.0)});
    if (!has_accuracy(settings_.loss)) return scores;
    const Tensor right = buffers_.read("sum.right");
    for (std::size_t i = 0; i < scores.size(); ++i)
        scores[i].accuracy = right.elements[i] / std::max(count, 1.0);
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
    clear_sums();
    for (std::int64_t batch = 0; batch < parts.batches(); ++batch) run(parts.batch(batch));
    const std::vector<Score> scores = read_scores();
    write_all(sums(), of_epoch);
    return scores;
}

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
    const std::vector<double> skipped = buffers_.read("sum.skipped").elements;
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

std::vector<std::string> Trainer::Implementation::lasting() const {
    std::vector<std::string> names{std::string(training_graphs::weights),
                                   std::string(training_graphs::best_weights), "step"};
    for (std::size_t i = 0; i < moment_count(settings_.optimizer); ++i)
        names.push_back(fmt::format("moment.{}", i));
    if (!buffers_.contains(training_graphs::inverses)) return names;
    names.emplace_back(training_graphs::inverses);
    for (std::size_t i = 0; i < moment_count(settings_.optimizer); ++i)
        names.push_back(fmt::format("inverse.moment.{}", i));
    return names;
}

std::vector<std::string> Trainer::Implementation::sums() const {
    std::vector<std::string> names;
    if (next_batch_ == 0) return names;
    for (const char* name :
         {"sum.count", "sum.loss", "sum.right", "sum.skipped", "sum.budget", "sum.gap"})
        if (buffers_.contains(name)) names.emplace_back(name);
    return names;
}

std::vector<Tensor> Trainer::Implementation::read_all(std::span<const std::string> names) const {
    std::vector<Tensor> values;
    for (const std::string& name : names) values.push_back(buffers_.read(name));
    return values;
}

void Trainer::Implementation::write_all(std::span<const std::string> names,
                                        std::span<const Tensor> values) {
    for (std::size_t i = 0; i < names.size(); ++i) buffers_.write(names[i], values[i]);
}

void Trainer::Implementation::save(ArchiveWriter& to) const {
    to.write(epochs_done_);
    to.write(next_batch_);
    for (const TrainingProgress& individual : individuals_) individual.save(to);
    for (const auto& names : {lasting(), sums()})
        for (const Tensor& values : read_all(names))
            to.write(std::vector<float>(values.elements.begin(), values.elements.end()));
}

void Trainer::Implementation::restore(ArchiveReader& from) {
    from.read(epochs_done_);
    from.read(next_batch_);
    const std::int64_t left = settings_.epochs - epochs_done_;
    if (epochs_done_ < 0 || left < 0 || next_batch_ < 0 || next_batch_ >= step_.batches() ||
        (left == 0 && next_batch_ > 0))
        from.fail("it has done another number of steps than the training can");
    // Steps are counted from the start: random numbers depend on it.
    write_shared("pass", ValueType::integer,
                 static_cast<double>(epochs_done_ * step_.batches() + next_batch_));
    for (TrainingProgress& individual : individuals_) individual.restore(from);
    for (const auto& names : {lasting(), sums()}) {
        std::vector<Tensor> all = read_all(names);
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::vector<float> saved;
            from.read(saved);
            if (saved.size() != all[i].elements.size())
                from.fail("its " + names[i] + " are of another size");
            std::ranges::copy(saved, all[i].elements.begin());
        }
        write_all(names, all);
    }
    from.finish();
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

Trainer::Trainer(Backend& backend, const Network& network, const DataSet& data,
                 TrainingSettings settings)
    : implementation_(
          std::make_unique<Implementation>(backend, network, data, std::move(settings))) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

std::int64_t Trainer::individuals() const {
    return implementation_->population();
}
std::int64_t Trainer::epochs_done() const {
    return implementation_->epochs_done();
}
bool Trainer::finished() const {
    return implementation_->finished();
}
std::optional<EpochReport> Trainer::run_epoch(const std::function<bool()>& go_on) {
    return implementation_->run_epoch(go_on);
}
void Trainer::run(const std::function<void(const EpochReport&)>& progress) {
    while (!finished()) {
        const auto report = run_epoch();
        if (progress) progress(*report);
    }
}
void Trainer::watch(std::int64_t every, Observer& observer) {
    implementation_->watch(every, observer);
}
std::vector<std::byte> Trainer::state() const {
    ArchiveWriter writer;
    implementation_->save(writer);
    return writer.take();
}
void Trainer::restore(std::span<const std::byte> state, const std::string& source) {
    ArchiveReader reader(state, source);
    implementation_->restore(reader);
}
std::vector<Score> Trainer::evaluate(Part part, Snapshot snapshot) {
    return implementation_->evaluate(part, snapshot);
}
std::vector<float> Trainer::weights(std::int64_t individual, Snapshot snapshot) const {
    return implementation_->weights(individual, snapshot);
}
double Trainer::best_loss(std::int64_t individual) const {
    return implementation_->individual(individual).best();
}
std::int64_t Trainer::peak_bytes() const {
    return implementation_->peak_bytes();
}

}  // namespace cambrian
