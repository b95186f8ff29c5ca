#include "cambrian/engine/layers/neurons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {
namespace {

using Connection = Neurons::Connection;

/// Of the connections that a layer is given: beyond, they are no network that anyone wrote.
constexpr std::int64_t most_given = std::int64_t{1} << 20U;

void connect_all(Neurons& layer) {
    if (layer.in * layer.out > most_given)
        throw ShapeError(fmt::format(
            "neurons would connect {} inputs with {} outputs (at most {} connections are made of "
            "themselves) write \"connections\", or use a dense layer",
            layer.in, layer.out, most_given));
    for (std::int64_t target = 0; target < layer.out; ++target)
        for (std::int64_t source = 0; source < layer.in; ++source)
            layer.connections.push_back({.source = source, .target = target});
}

std::string source_name(const Neurons& layer, std::int64_t source) {
    if (source == Neurons::constant) return "the constant";
    if (source < layer.in) return fmt::format("input {}", source);
    return fmt::format("neuron {}", source - layer.in);
}

void check_ends(const Neurons& layer) {
    const auto count = static_cast<std::int64_t>(layer.neurons.size());
    for (std::size_t i = 0; i < layer.connections.size(); ++i) {
        if (layer.has_ends(layer.connections[i])) continue;
        const auto& [source, target, delay, enabled, plastic] = layer.connections[i];
        throw ShapeError(
            fmt::format("neurons has no ends for connection {}, from source {} to neuron {} "
                        "(sources are -1 to {}, neurons 0 to {}) change its ends",
                        i, source, target, layer.in + count - 1, count - 1));
    }
}

void check_distinct(const Neurons& layer) {
    using Ends = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
    std::vector<Ends> all;
    all.reserve(layer.connections.size());
    for (const Connection& each : layer.connections)
        all.emplace_back(each.source, each.target, each.delay);
    std::ranges::sort(all);
    const auto twice = std::ranges::adjacent_find(all);
    if (twice == all.end()) return;
    const auto& [source, target, delay] = *twice;
    throw ShapeError(
        fmt::format("neurons has two connections from {} to neuron {} with a delay of {} (one can "
                    "hold the sum of their weights) remove one",
                    source_name(layer, source), target, delay));
}

std::vector<std::int64_t> disabled_of(std::span<const Connection> connections) {
    std::vector<std::int64_t> disabled;
    for (std::size_t i = 0; i < connections.size(); ++i)
        if (!connections[i].enabled) disabled.push_back(static_cast<std::int64_t>(i));
    return disabled;
}

/// What a step computes of one row's inputs, state and parameters.
class NeuronStep {
  public:
    NeuronStep(const Neurons& layer, Var x, std::span<const Var> state,
               const LayerOperands& operands)
        : layer_(layer),
          plan_(layer),
          x_(as_vectors(x, layer.in, operands.row)),
          state_(state),
          parameters_(operands.parameters),
          values_(static_cast<std::size_t>(layer.in) + layer.neurons.size()) {}

    StepResult result() {
        for (const std::int64_t neuron : plan_.order) {
            const std::size_t first = changing_.size();
            value(layer_.in + neuron) = compute(neuron);
            for (std::size_t i = first; i < changing_.size(); ++i) learn(neuron, changing_[i]);
        }
        std::vector<Var> outputs;
        for (std::int64_t i = 0; i < layer_.out; ++i)
            outputs.push_back(of_every_row(value(layer_.in + i)));
        StepResult result{.output = concat(outputs, -1), .state = {}};
        if (plan_.state_words > 0) result.state.push_back(next_state());
        return result;
    }

  private:
    Var& value(std::int64_t source) { return values_[static_cast<std::size_t>(source)]; }
    Var now(std::int64_t source) {
        Var& known = value(source);
        if (known.graph == nullptr) known = slice(x_, -1, source, 1);  // Neurons are known.
        return known;
    }
    Var before(std::int64_t source, std::int64_t delay) {
        return slice(state_[0], -1, plan_.place(source, delay), 1);
    }
    /// A plastic connection in this step. Without `source` that is the constant.
    struct Changing {
        Var source;
        Var inherited;
        Var weight;
        Var change;  ///< After the step.
    };
    Var weighted(std::int64_t connection) {
        const Connection& from = layer_.connections[static_cast<std::size_t>(connection)];
        const Var inherited = slice(parameters_[0], 0, connection, 1);
        const Var source = from.source == Neurons::constant ? Var{}
                           : from.delay == 0                ? now(from.source)
                                                            : before(from.source, from.delay);
        Var weight = inherited;
        if (layer_.plastic && from.plastic) {
            const auto place = plan_.first_change + static_cast<std::int64_t>(changing_.size());
            weight = inherited + slice(state_[0], -1, place, 1);
            changing_.push_back({source, inherited, weight, {}});
        }
        return source.graph == nullptr ? weight : source * weight;
    }
    /// Changes a weight by the rule of its target, which has its value now.
    void learn(std::int64_t neuron, Changing& one) {
        const std::size_t rule = layer_.continuous ? 2 : 1;
        const Var target = value(layer_.in + neuron);
        const auto times_source = [&](Var factor) {
            return one.source.graph == nullptr ? factor : one.source * factor;
        };
        const Var sum = own(rule + 1, neuron) * times_source(target) +
                        times_source(own(rule + 2, neuron)) + own(rule + 3, neuron) * target +
                        own(rule + 4, neuron);
        const Var moved = one.weight + own(rule, neuron) * sum;
        // As a float, which bytecode holds.
        const auto limit = static_cast<double>(static_cast<float>(layer_.largest_weight));
        const Var least = constant(*moved.graph, -limit);
        const Var largest = constant(*moved.graph, limit);
        one.change = min(max(moved, least), largest) - one.inherited;
    }
    /// Parameter `index` after the weights, of one neuron.
    Var own(std::size_t index, std::int64_t neuron) {
        return slice(parameters_[index + (layer_.connections.empty() ? 0 : 1)], 0, neuron, 1);
    }

    Var compute(std::int64_t neuron) {
        const auto& [activation, aggregation] = layer_.neurons[static_cast<std::size_t>(neuron)];
        std::vector<Var> terms;
        for (const std::int64_t connection : plan_.inputs(neuron))
            terms.push_back(weighted(connection));
        Var sum = own(0, neuron);
        if (!terms.empty()) sum = aggregate(terms, aggregation) + sum;
        const Var target = activate(sum, activation);
        if (!layer_.continuous) return target;
        const Var last = before(layer_.in + neuron, 1);
        // As a float, which bytecode holds.
        const auto step = static_cast<double>(static_cast<float>(layer_.time_step));
        const Var rate = step / own(1, neuron);
        return last + rate * (target - last);
    }

    /// A value that no input reaches is the same for every row.
    Var of_every_row(Var value) {
        const auto extents = x_.shape().extents();
        return broadcast(value, with_leading(extents.first(extents.size() - 1), Shape{1}));
    }
    Var next_state() {
        std::vector<Var> parts;
        for (const auto& [source, first, length] : plan_.memories) {
            parts.push_back(of_every_row(now(source)));
            if (length > 1) parts.push_back(slice(state_[0], -1, first, length - 1));
        }
        for (const Changing& one : changing_) parts.push_back(of_every_row(one.change));
        return concat(parts, -1);
    }

    const Neurons& layer_;
    NeuronPlan plan_;
    Var x_;
    std::span<const Var> state_;
    std::span<const Var> parameters_;
    std::vector<Var> values_;         ///< Of inputs and neurons, as they become known.
    std::vector<Changing> changing_;  ///< In the order of NeuronPlan::plastic.
};

}  // namespace

Neurons Neurons::example() {
    using enum NeuronActivation;
    using enum NeuronAggregation;
    return {.in = 3,
            .out = 2,
            .neurons = {{.activation = tanh},
                        {.activation = steep_sigmoid, .aggregation = mean},
                        {.activation = gauss},
                        {.activation = softplus, .aggregation = maxabs}},
            .connections = {{.source = 0, .target = 2},
                            {.source = 1, .target = 2},
                            {.source = constant, .target = 0},
                            {.source = 5, .target = 0},
                            {.source = 2, .target = 1},
                            {.source = 5, .target = 3},
                            {.source = 1, .target = 3},
                            {.source = 6, .target = 1},
                            {.source = 0, .target = 0, .enabled = false}}};
}

std::optional<Neurons> Neurons::fitted(const Shape& in, const Shape& out) {
    if (out.rank() != 1 || in.elements() * out.elements() > most_given) return std::nullopt;
    Neurons layer{.in = in.elements(), .out = out.elements(), .neurons = {}, .connections = {}};
    layer.resolve(in);
    return layer;
}

std::string_view Neurons::fault() const {
    if (!representable.contains(time_step)) return "time_step is above 0, 1.2e-38 at least";
    if (!neurons.empty() && static_cast<std::int64_t>(neurons.size()) < out)
        return "neurons are at least as many as the outputs";
    if (!representable.contains(largest_weight))
        return "largest_weight is above 0, 1.2e-38 at least";
    for (const Connection& each : connections) {
        if (each.delay < 0 || each.delay > longest_delay) return "delay is 0 to 4096 steps";
        if (each.plastic && !plastic) return "connections are plastic where the layer is";
    }
    return {};
}

void Neurons::resolve(const Shape& input) {
    require_no_fault(name, fault());
    resolve_width(name, "in", in, input);
    require_width(name, "out", out);
    if (neurons.empty()) {
        neurons.resize(static_cast<std::size_t>(out));
        if (connections.empty()) connect_all(*this);
    }
    require_no_fault(name, fault());
    check_ends(*this);
    check_distinct(*this);
    const std::int64_t words = NeuronPlan(*this).state_words;
    // A connection may ask for thousands of them: files are not trusted.
    require_no_fault(name, words > largest_count ? "its state has 16777216 numbers at most" : "");
    if (words > 0) resolve_whole_row(name, "in", in, input);
}

Shape Neurons::output_shape(const Shape& input) const {
    return with_width(input, in, out);
}

std::vector<ParameterSpec> Neurons::parameters() const {
    const auto count = static_cast<std::int64_t>(neurons.size());
    const auto weights = static_cast<std::int64_t>(connections.size());
    std::vector<ParameterSpec> result;
    if (weights > 0)
        result.push_back({.name = "weight",
                          .shape = {weights},
                          .initial = Initial::weight,
                          .fan_in = std::max<std::int64_t>(1, weights / count),
                          .connections = true,
                          .disabled = disabled_of(connections)});
    result.push_back({.name = "bias", .shape = {count}, .initial = Initial::zeros});
    if (continuous)
        result.push_back({.name = "time_constant",
                          .shape = {count},
                          .initial = Initial::ones,
                          .positive = true});
    if (!plastic) return result;
    // Of the order of what a step may change: uniform in ±0.5.
    constexpr std::int64_t rule_fan_in = 12;
    for (const char* number : {"learning_rate", "hebbian", "presynaptic", "postsynaptic", "drift"})
        result.push_back(
            {.name = number, .shape = {count}, .initial = Initial::weight, .fan_in = rule_fan_in});
    return result;
}

bool Neurons::stateful() const {
    const auto looks_back = [](const Connection& each) {
        return each.enabled && (each.delay > 0 || each.plastic);
    };
    return (continuous || std::ranges::any_of(connections, looks_back)) &&
           NeuronPlan(*this).state_words > 0;
}

std::vector<StateSpec> Neurons::state() const {
    const std::int64_t words = stateful() ? NeuronPlan(*this).state_words : 0;
    if (words == 0) return {};
    return {{.name = "past", .shape = {words}}};
}

StepResult Neurons::step(Var x, std::span<const Var> state, const LayerOperands& operands) const {
    return NeuronStep(*this, x, state, operands).result();
}

}  // namespace cambrian
