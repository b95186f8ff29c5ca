#include "cambrian/engine/train/trainer/implementation.hpp"

#include <numeric>

namespace cambrian {

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

void Trainer::Implementation::clear_sums(std::string_view of) {
    for (const auto& names : {sums(of), lost_sums(of)})
        for (const std::string& name : names)
            buffers_.write(name, Tensor(ValueType::real, buffers_.read(name).shape));
}

}  // namespace cambrian
