#include "cambrian/evolve/variation/hyperneat/phenotype.hpp"

#include <algorithm>
#include <utility>

namespace cambrian::evolve {

namespace {

using Connection = Neurons::Connection;

/// Which neurons are reached from some of them by walking along connections that begin and end as
/// two functions say; below 0: outside of the neurons.
template <class Begin, class End>
std::vector<bool> reached(const Neurons& layer, std::vector<std::int64_t> found, Begin begin,
                          End end) {
    const std::size_t count = layer.neurons.size();
    std::vector<std::vector<std::int64_t>> steps(count);
    for (const Connection& each : layer.connections) {
        if (begin(each) >= 0 && end(each) >= 0) {
            steps[static_cast<std::size_t>(begin(each))].push_back(end(each));
        }
    }
    std::vector<bool> known(count, false);
    for (std::size_t next = 0; next < found.size(); ++next) {
        const auto at = static_cast<std::size_t>(found[next]);
        if (!known[at]) {
            known[at] = true;
            found.insert(found.end(), steps[at].begin(), steps[at].end());
        }
    }
    return known;
}

}  // namespace

Phenotype::Phenotype(const Substrate& substrate)
    : layer_{.in = std::ssize(substrate.inputs()),
             .out = std::ssize(substrate.outputs()),
             .neurons = {},
             .connections = {}},
      hidden_{.activation = substrate.settings().hidden_activation} {
    layer_.neurons.assign(substrate.outputs().size(),
                          {.activation = substrate.settings().output_activation});
    biases_.resize(layer_.neurons.size());
}

std::int64_t Phenotype::add_neuron() {
    layer_.neurons.push_back(hidden_);
    biases_.push_back(0.0F);
    return std::ssize(layer_.neurons) - 1;
}

void Phenotype::connect(std::int64_t source, std::int64_t target, float weight,
                        std::int64_t delay) {
    layer_.connections.push_back({.source = source, .target = target, .delay = delay});
    weights_.push_back(weight);
}

void Phenotype::set_bias(std::int64_t neuron, float bias) {
    biases_[static_cast<std::size_t>(neuron)] = bias;
}

Individual Phenotype::individual() && {
    keep(on_paths());
    Blueprint blueprint;
    blueprint.input_features = layer_.in;
    blueprint.output_features = layer_.out;
    blueprint.slots.resize(static_cast<std::size_t>(blueprint.grid.slots()));
    blueprint.head = std::move(layer_);
    Genome genome = founder_genome(blueprint, 0);
    genome.weights = std::move(weights_);
    genome.weights.insert(genome.weights.end(), biases_.begin(), biases_.end());
    return Individual(std::move(genome));
}

std::vector<bool> Phenotype::on_paths() const {
    const auto source = [this](const Connection& each) { return each.source - layer_.in; };
    const auto target = [](const Connection& each) { return each.target; };
    std::vector<std::int64_t> fed;  // By an input, or by a bias, which is one that is always 1.
    for (const Connection& each : layer_.connections) {
        if (source(each) < 0) {
            fed.push_back(each.target);
        }
    }
    for (std::size_t i = 0; i < biases_.size(); ++i) {
        if (biases_[i] != 0.0F) {
            fed.push_back(static_cast<std::int64_t>(i));
        }
    }
    std::vector<std::int64_t> outputs;
    for (std::int64_t output = 0; output < layer_.out; ++output) {
        outputs.push_back(output);
    }
    std::vector<bool> kept = reached(layer_, std::move(fed), source, target);
    const std::vector<bool> useful = reached(layer_, std::move(outputs), target, source);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        kept[i] = (kept[i] && useful[i]) || static_cast<std::int64_t>(i) < layer_.out;
    }
    return kept;
}

void Phenotype::keep(const std::vector<bool>& kept) {
    std::vector<std::int64_t> numbers(kept.size(), -1);
    std::size_t count = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (kept[i]) {
            numbers[i] = static_cast<std::int64_t>(count);
            layer_.neurons[count] = layer_.neurons[i];
            biases_[count] = biases_[i];
            ++count;
        }
    }
    layer_.neurons.resize(count);
    biases_.resize(count);
    std::size_t connections = 0;
    for (std::size_t i = 0; i < layer_.connections.size(); ++i) {
        Connection each = layer_.connections[i];
        const std::int64_t from = each.source - layer_.in;
        each.target = numbers[static_cast<std::size_t>(each.target)];
        if (from >= 0) {
            const std::int64_t number = numbers[static_cast<std::size_t>(from)];
            each.source = number < 0 ? Neurons::constant : layer_.in + number;
        }
        if (each.target >= 0 && each.source >= 0) {
            layer_.connections[connections] = each;
            weights_[connections] = weights_[i];
            ++connections;
        }
    }
    layer_.connections.resize(connections);
    weights_.resize(connections);
}

}  // namespace cambrian::evolve
