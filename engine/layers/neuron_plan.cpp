#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/neurons.hpp"

namespace cambrian {
namespace {

using Connection = Neurons::Connection;

std::size_t at(std::int64_t index) {
    return static_cast<std::size_t>(index);
}

/// The enabled connections of a layer, grouped by target.
void group_by_target(const Neurons& layer, NeuronPlan& plan) {
    plan.first.assign(layer.neurons.size() + 1, 0);
    for (const Connection& each : layer.connections)
        if (each.enabled && layer.has_ends(each)) ++plan.first[at(each.target) + 1];
    for (std::size_t i = 1; i < plan.first.size(); ++i) plan.first[i] += plan.first[i - 1];
    std::vector<std::size_t> next = plan.first;
    plan.connections.resize(plan.first.back());
    for (std::size_t i = 0; i < layer.connections.size(); ++i) {
        const Connection& each = layer.connections[i];
        if (each.enabled && layer.has_ends(each))
            plan.connections[next[at(each.target)]++] = static_cast<std::int64_t>(i);
    }
}

/// Whether an output depends on each neuron, in this step or a later one.
std::vector<bool> live_neurons(const Neurons& layer, const NeuronPlan& plan) {
    std::vector<bool> live(layer.neurons.size());
    std::vector<std::int64_t> found;
    const auto reach = [&](std::int64_t neuron) {
        if (live[at(neuron)]) return;
        live[at(neuron)] = true;
        found.push_back(neuron);
    };
    const auto count = static_cast<std::int64_t>(layer.neurons.size());
    for (std::int64_t i = 0; i < std::min(layer.out, count); ++i) reach(i);
    while (!found.empty()) {
        const std::int64_t neuron = found.back();
        found.pop_back();
        for (const std::int64_t input : plan.inputs(neuron))
            if (layer.connections[at(input)].source >= layer.in)
                reach(layer.connections[at(input)].source - layer.in);
    }
    return live;
}

/// Walks backwards along connections without delay, depth first.
class OrderSearch {
  public:
    OrderSearch(const Neurons& layer, const NeuronPlan& plan)
        : layer_(layer), plan_(plan), visits_(layer.neurons.size()) {}

    /// Calls found(neuron) for a neuron and what it depends on, unless that was found before.
    template <class Found>
    void visit(std::int64_t start, Found found) {
        enter(start);
        while (!path_.empty()) {
            const std::int64_t neuron = path_.back();
            std::size_t& next = visits_[at(neuron)].next;
            const auto inputs = plan_.inputs(neuron);
            if (next < inputs.size()) {
                const Connection& each = layer_.connections[at(inputs[next++])];
                if (each.delay == 0 && each.source >= layer_.in) enter(each.source - layer_.in);
                continue;
            }
            visits_[at(neuron)].stage = Stage::done;
            path_.pop_back();
            found(neuron);
        }
    }

  private:
    enum class Stage : std::uint8_t { unknown, open, done };
    struct Visit {
        Stage stage = Stage::unknown;
        std::size_t next = 0;  ///< Of its inputs.
    };

    void enter(std::int64_t neuron) {
        Visit& visit = visits_[at(neuron)];
        if (visit.stage == Stage::open) fail(neuron);
        if (visit.stage == Stage::done) return;
        visit.stage = Stage::open;
        path_.push_back(neuron);
    }
    [[noreturn]] void fail(std::int64_t neuron) const {
        std::string cycle = fmt::format("neuron {}", neuron);
        for (auto last = path_.rbegin(); *last != neuron; ++last)
            cycle += fmt::format(", neuron {}", *last);
        throw ShapeError("neurons has a cycle of connections without delay (" + cycle +
                         ") give one of them a delay of 1, or disable it");
    }

    const Neurons& layer_;
    const NeuronPlan& plan_;
    std::vector<Visit> visits_;
    std::vector<std::int64_t> path_;  ///< Open neurons, each an input of the one before.
};

/// Brings together neurons that as many others come before in a step.
void order_by_level(const Neurons& layer, NeuronPlan& plan) {
    std::vector<std::int64_t> level(layer.neurons.size());
    for (const std::int64_t neuron : plan.order)
        for (const std::int64_t input : plan.inputs(neuron)) {
            const Connection& each = layer.connections[at(input)];
            if (each.delay == 0 && each.source >= layer.in)
                level[at(neuron)] =
                    std::max(level[at(neuron)], level[at(each.source - layer.in)] + 1);
        }
    std::ranges::stable_sort(plan.order, {},
                             [&](std::int64_t neuron) { return level[at(neuron)]; });
}

/// Gives every source whose earlier values are read a place in the state.
void remember(const Neurons& layer, NeuronPlan& plan) {
    std::vector<std::int64_t> longest(at(layer.in) + layer.neurons.size(), 0);
    for (const std::int64_t neuron : plan.order) {
        if (layer.continuous)
            longest[at(layer.in + neuron)] =
                std::max<std::int64_t>(longest[at(layer.in + neuron)], 1);
        for (const std::int64_t input : plan.inputs(neuron)) {
            const Connection& each = layer.connections[at(input)];
            if (each.source != Neurons::constant)
                longest[at(each.source)] = std::max(longest[at(each.source)], each.delay);
        }
    }
    plan.memory_of.assign(longest.size(), -1);
    for (std::size_t source = 0; source < longest.size(); ++source) {
        if (longest[source] == 0) continue;
        plan.memory_of[source] = plan.state_words;
        plan.memories.push_back({.source = static_cast<std::int64_t>(source),
                                 .first = plan.state_words,
                                 .length = longest[source]});
        plan.state_words += longest[source];
    }
}

/// Gives the change of every plastic connection that is computed a place in the state.
void remember_changes(const Neurons& layer, NeuronPlan& plan) {
    plan.first_change = plan.state_words;
    if (!layer.plastic) return;
    for (const std::int64_t neuron : plan.order)
        for (const std::int64_t input : plan.inputs(neuron))
            if (layer.connections[at(input)].plastic) plan.plastic.push_back(input);
    plan.state_words += static_cast<std::int64_t>(plan.plastic.size());
}

}  // namespace

bool NeuronPlan::changes(const Neurons& layer, std::int64_t neuron) const {
    return layer.plastic && std::ranges::any_of(inputs(neuron), [&](std::int64_t input) {
               return layer.connections[at(input)].plastic;
           });
}

NeuronPlan::NeuronPlan(const Neurons& layer) {
    group_by_target(layer, *this);
    const std::vector<bool> live = live_neurons(layer, *this);
    OrderSearch search(layer, *this);
    for (std::size_t i = 0; i < layer.neurons.size(); ++i)
        search.visit(static_cast<std::int64_t>(i), [&](std::int64_t neuron) {
            if (live[at(neuron)]) order.push_back(neuron);
        });
    order_by_level(layer, *this);
    remember(layer, *this);
    remember_changes(layer, *this);
}

}  // namespace cambrian
