#include "cambrian/evolve/evaluation/activation_similarity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/evolve/evaluation/inference.hpp"
#include "cambrian/evolve/genome/structure.hpp"

namespace cambrian::evolve {

namespace {

/// The rows of one step of a probe.
Tensor probe_rows(const Probe& probe, std::int64_t step, std::int64_t features) {
    const std::int64_t size = probe.batch * features;
    const auto first = probe.rows.begin() + step * size;
    return {ValueType::real, Shape{probe.batch, features},
            std::vector<double>(first, first + size)};
}

/// What each of these slots gives for a probe, [steps] tensors [batch, row..]; the last is the
/// head.
std::vector<std::vector<Tensor>> probe_outputs(std::span<const int> slots, Backend& backend,
                                               const Network& network, const Genome& genome,
                                               const Probe& probe) {
    Inference pass;
    const NetworkOperands operands = pass.add(network, genome);
    std::vector<Var> state = network.initial_state(pass.graph, probe.batch);
    std::vector<std::string> names;
    for (std::int64_t step = 0; step < probe.steps; ++step) {
        const std::string prefix = fmt::format("step.{}.", step);
        const Var rows = pass.add(fmt::format("rows.{}", step),
                                  probe_rows(probe, step, network.input_features()));
        StepResult result = WatchedNetwork(network, prefix).step(rows, state, operands);
        state = std::move(result.state);
        if (step + 1 == probe.steps) {
            pass.graph.output(result.output);
        }
        for (const int slot : slots) {
            names.push_back(watched_name(prefix, slot, slots.back()));
        }
    }
    std::vector<Tensor> outputs =
        cambrian::evaluate(backend, with_captures(pass.graph, names), 1, pass.values);
    CAMBRIAN_ASSERT(outputs.size() == names.size() + 1);
    std::vector<std::vector<Tensor>> places(slots.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        places[i % slots.size()].push_back(std::move(outputs[i + 1]));
    }
    return places;
}

/// [rows, features] of all steps, each feature with a mean of 0 over the rows.
std::vector<double> centred(const std::vector<Tensor>& steps, std::size_t rows) {
    std::vector<double> all;
    for (const Tensor& tensor : steps) {
        all.insert(all.end(), tensor.elements.begin(), tensor.elements.end());
    }
    const std::size_t features = all.size() / rows;
    for (std::size_t feature = 0; feature < features; ++feature) {
        double sum = 0.0;
        double squares = 0.0;
        for (std::size_t row = 0; row < rows; ++row) {
            const double value = all[row * features + feature];
            sum += value;
            squares += value * value;
        }
        const double mean = sum / static_cast<double>(rows);
        double left = 0.0;
        for (std::size_t row = 0; row < rows; ++row) {
            double& value = all[row * features + feature];
            value -= mean;
            left += value * value;
        }
        // What rounding leaves of a feature that is the same in all rows says nothing.
        constexpr double rounding = 1e-24;
        for (std::size_t row = 0; row < rows && left <= rounding * squares; ++row) {
            all[row * features + feature] = 0.0;
        }
    }
    return all;
}

/// Products of all pairs of rows, divided by their norm; empty where all are 0.
std::vector<double> direction_of(const std::vector<double>& values, std::size_t rows) {
    const std::size_t features = values.size() / rows;
    std::vector<double> products(rows * rows);
    double squares = 0.0;
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < rows; ++j) {
            double sum = 0.0;
            for (std::size_t k = 0; k < features; ++k) {
                sum += values[i * features + k] * values[j * features + k];
            }
            products[i * rows + j] = sum;
            squares += sum * sum;
        }
    }
    if (squares == 0.0) {
        return {};
    }
    const double norm = std::sqrt(squares);
    for (double& product : products) {
        product /= norm;
    }
    return products;
}

}  // namespace

Probe random_probe(std::int64_t features, std::int64_t steps, std::int64_t batch,
                   std::uint64_t seed) {
    Probe probe{.steps = steps, .batch = batch, .rows = {}};
    probe.rows.resize(static_cast<std::size_t>(steps * batch * features));
    const RandomField field{random_key(seed, "probe"), 0, 0};
    field.fill_normal(0, probe.rows);
    return probe;
}

ActivationProfile activation_profile(Backend& backend, const Genome& genome, const Probe& probe) {
    const Network network(genome.blueprint);
    CAMBRIAN_EXPECT(std::ssize(probe.rows) == probe.steps * probe.batch * network.input_features());
    std::vector<int> slots = filled_slots(genome.blueprint);
    slots.push_back(genome.blueprint.grid.slots());
    const std::vector<std::vector<Tensor>> given =
        probe_outputs(slots, backend, network, genome, probe);
    const auto rows = static_cast<std::size_t>(probe.steps * probe.batch);
    ActivationProfile profile;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const bool head = i + 1 == given.size();
        std::vector<double> direction = direction_of(centred(given[i], rows), rows);
        if (!std::ranges::all_of(direction, [](double value) { return std::isfinite(value); })) {
            throw InputError(fmt::format(
                "{} of a network gives what is not finite for the probe (its layers cannot be "
                "compared by what they give) compare weights instead",
                head ? "the head" : fmt::format("slot {}", slots[i])));
        }
        profile.places.push_back(
            {head ? std::array{-1, -1, -1, -1} : genome.blueprint.grid.coordinates(slots[i]),
             std::move(direction)});
    }
    return profile;
}

double linear_cka(const ActivationProfile::Place& a, const ActivationProfile::Place& b) {
    if (a.direction.empty() || b.direction.empty()) {
        return a.direction.empty() && b.direction.empty() ? 1.0 : 0.0;
    }
    CAMBRIAN_EXPECT(a.direction.size() == b.direction.size());
    if (a.direction == b.direction) {
        return 1.0;  // rounding leaves the square of a direction a little off
    }
    double sum = 0.0;
    for (std::size_t i = 0; i < a.direction.size(); ++i) {
        sum += a.direction[i] * b.direction[i];
    }
    return std::clamp(sum, 0.0, 1.0);
}

double activation_similarity(const ActivationProfile& a, const ActivationProfile& b) {
    double sum = 0.0;
    std::size_t matched = 0;
    for (const ActivationProfile::Place& place : a.places) {
        const auto other = std::ranges::find(b.places, place.at, &ActivationProfile::Place::at);
        if (other != b.places.end()) {
            sum += linear_cka(place, *other);
            ++matched;
        }
    }
    return sum / static_cast<double>(a.places.size() + b.places.size() - matched);
}

Gram activation_gram(Backend& backend, std::span<const Genome* const> genomes, const Probe& probe) {
    std::vector<ActivationProfile> profiles;
    profiles.reserve(genomes.size());
    for (const Genome* genome : genomes) {
        profiles.push_back(activation_profile(backend, *genome, probe));
    }
    return gram_matrix(genomes.size(), backend.threads(), [&](std::size_t i, std::size_t j) {
        return activation_similarity(profiles[i], profiles[j]);
    });
}

}  // namespace cambrian::evolve
