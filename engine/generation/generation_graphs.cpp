#include "cambrian/engine/generation/generation_graphs.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/engine/network/packed_weights.hpp"

namespace cambrian::generation_graphs {
namespace {

constexpr std::string_view position_name = "position";

/// The axis of positions of [prompts, groups, positions, width].
constexpr int positions_axis = 2;

NetworkOperands operands(Graph& graph, const Network& network, const Batch& batch) {
    auto packed = std::make_shared<const PackedWeights>(network);
    NetworkOperands all{
        .weights = graph.input("weights", ValueType::real, {packed->floats()}, batch.several()),
        .activations = {},
        .enabled = graph.constant(code_operand(ValueType::boolean, network.enabled_flags()))};
    if (packed->any()) {
        all.activations =
            graph.input("codes", ValueType::integer, {packed->integers()}, batch.several());
        all.packed = std::move(packed);
    } else {
        all.activations =
            graph.constant(code_operand(ValueType::integer, network.activation_codes()));
    }
    return all;
}

Var prompt_input(Graph& graph, std::string_view name, const Shape& shape, const Batch& batch) {
    return graph.input(name, ValueType::real, shape, batch.several());
}

Var position_input(Graph& graph, const Batch& batch) {
    return prompt_input(graph, position_name, {batch.prompts, 1}, batch);
}

/// The position of each prompt as an index, [prompts].
Var index_of(Var position) {
    return cast(reshape(position, {position.shape()[0]}), ValueType::integer);
}

/// The same beside [prompts, groups, positions, width].
Var beside_caches(Var position) {
    return reshape(index_of(position), {position.shape()[0], 1, 1, 1});
}

/// 0, 1, .. along the axis of positions.
Var places(Graph& graph, std::int64_t count) {
    return reshape(iota(graph, count), {count, 1});
}

std::int64_t longest_of(const AnyLayer& layer) {
    std::int64_t longest = 0;
    const auto bound = [&longest](std::int64_t other) {
        if (other > 0) longest = longest == 0 ? other : std::min(longest, other);
    };
    if (const auto* table = std::get_if<Embedding>(&layer.variant())) bound(table->positions);
    layer.each_inner([&](const AnyLayer& inner) { bound(longest_of(inner)); });
    return longest;
}

}  // namespace

Network with_cache(const Network& network, std::int64_t positions) {
    Blueprint blueprint = network.blueprint();
    for (std::optional<Slot>& slot : blueprint.slots)
        if (slot) slot->layer.set_cache(positions);
    blueprint.head.set_cache(positions);
    return Network(std::move(blueprint));
}

std::int64_t longest_sequence(const Network& network) {
    std::int64_t longest = longest_of(network.blueprint().head);
    for (const std::optional<Slot>& slot : network.blueprint().slots) {
        const std::int64_t own = slot ? longest_of(slot->layer) : 0;
        if (own > 0) longest = longest == 0 ? own : std::min(longest, own);
    }
    return longest;
}

bool fills_by_sequence(const Network& cached) {
    return std::ranges::none_of(
        cached.state(), [](const StateSpec& state) { return state.kind == StateKind::whole; });
}

std::string state_name(const Network& cached, std::size_t index) {
    if (cached.state()[index].kind == StateKind::position) return std::string(position_name);
    return "state." + std::to_string(index);
}

Shape state_shape(const Network& cached, std::size_t index, const Batch& batch) {
    return with_leading(std::array{batch.prompts}, cached.state()[index].shape);
}

Graph step(const Network& cached, const Batch& batch) {
    Graph graph;
    const NetworkOperands all = operands(graph, cached, batch);
    const Var tokens = prompt_input(graph, "tokens", {batch.prompts, 1}, batch);
    const Var position = position_input(graph, batch);
    std::vector<Var> state;
    for (std::size_t i = 0; i < cached.state().size(); ++i)
        state.push_back(
            cached.state()[i].kind == StateKind::position
                ? position
                : prompt_input(graph, state_name(cached, i), state_shape(cached, i, batch), batch));
    const StepResult result = cached.step(tokens, state, all);
    graph.output(result.output);
    const Var place = index_of(position);
    for (std::size_t i = 0; i < state.size(); ++i) {
        const StateKind kind = cached.state()[i].kind;
        if (kind == StateKind::whole) graph.update(state[i], result.state[i]);
        if (kind == StateKind::rows)
            graph.update(state[i], put_row(state[i], result.state[i], place));
    }
    return graph;
}

Graph prefill(const Network& cached, const Batch& batch, std::int64_t time) {
    CAMBRIAN_EXPECT(fills_by_sequence(cached));
    Graph graph;
    NetworkOperands all = operands(graph, cached, batch);
    const Var prompt = prompt_input(graph, "prompt", {batch.prompts, time, 1}, batch);
    const Var position = position_input(graph, batch);
    std::vector<Var> rows;
    all.cache_rows = &rows;
    static_cast<void>(cached.sequence(prompt, all));
    std::size_t next = 0;
    for (const StateSpec& spec : cached.state()) {
        if (spec.kind != StateKind::rows) continue;
        CAMBRIAN_ASSERT(next < rows.size());
        // Whatever stands after the prompt: 0 × NaN must not reach a result.
        const Var counted = select(less(places(graph, time), beside_caches(position)), rows[next++],
                                   constant(graph, 0.0));
        graph.output(pad(counted, positions_axis, 0, spec.shape[1] - time));
    }
    CAMBRIAN_ENSURE(next == rows.size());
    return graph;
}

Graph whole(const Network& network, const Batch& batch, std::int64_t time) {
    Graph graph;
    const NetworkOperands all = operands(graph, network, batch);
    const Var prompt = prompt_input(graph, "prompt", {batch.prompts, time, 1}, batch);
    const Var position = position_input(graph, batch);
    const Var logits = network.sequence(prompt, all);
    const std::int64_t vocabulary = logits.shape()[-1];
    const Var first = iota(graph, batch.prompts) * static_cast<double>(time);
    const Var last = first + index_of(position);
    graph.output(gather(reshape(logits, {batch.prompts * time, vocabulary}), last));
    return graph;
}

Graph grow(const Network& from, const Network& to, const Batch& batch) {
    Graph graph;
    for (std::size_t i = 0; i < from.state().size(); ++i) {
        const StateSpec& spec = from.state()[i];
        if (spec.kind != StateKind::rows) continue;
        const Var cache =
            prompt_input(graph, state_name(from, i), state_shape(from, i, batch), batch);
        graph.output(pad(cache, positions_axis, 0, to.state()[i].shape[1] - spec.shape[1]));
    }
    return graph;
}

}  // namespace cambrian::generation_graphs
