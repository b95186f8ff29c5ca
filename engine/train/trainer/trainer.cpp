#include "cambrian/engine/train/trainer.hpp"

#include <array>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/train/trainer/implementation.hpp"

namespace cambrian {

std::string_view name(Part part) {
    static constexpr std::array<std::string_view, 3> names{"train", "validation", "test"};
    return names[static_cast<std::size_t>(part)];
}

Trainer::Implementation::Implementation(Backend& backend, const Network& network,
                                        const DataSet& data, TrainingSettings settings)
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
    prepare_evaluations();
    draw_weights();
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
std::optional<std::int64_t> Trainer::best_epoch(std::int64_t individual) const {
    return implementation_->individual(individual).best_epoch();
}
std::int64_t Trainer::peak_bytes() const {
    return implementation_->peak_bytes();
}

}  // namespace cambrian
