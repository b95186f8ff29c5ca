#include "cambrian/engine/network/observe/observation.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/network/observe/summary.hpp"

namespace cambrian {

namespace {

constexpr std::array<std::string_view, 2> direction_names{"forward", "gradient"};
constexpr std::string_view gradient_suffix = ".gradient";  // of capture_gradients
constexpr double largest = std::numeric_limits<float>::max();

/// What a graph counts of a value, in this order.
enum Statistic : std::size_t { sum, most, least, active, not_finite, statistics };

/// [statistics] of all elements of a value. Sum, most and least leave out what is not finite.
Var statistics_of(Var value) {
    const Var all = reshape(value, {value.shape().elements()});
    const Var finite = is_finite(all);
    Graph& graph = *value.graph;
    const Var zero = constant(graph, 0.0);
    const auto count = [&](Var flags) { return sum_all(cast(flags, ValueType::real)); };
    const std::array<Var, statistics> parts{
        sum_all(select(finite, all, zero)),
        reduce_max(select(finite, all, constant(graph, -largest)), 0),
        -reduce_max(select(finite, -all, constant(graph, -largest)), 0),
        count(less(active_above, abs(all))),
        count(logical_not(finite)),
    };
    return stack(parts);
}

}  // namespace

std::string_view name(Direction direction) {
    return direction_names[static_cast<std::size_t>(direction)];
}

void capture_watched_gradients(Var loss, std::string_view prefix) {
    std::vector<std::string> names;
    for (const Capture& capture : loss.graph->captures())
        if (capture.name.starts_with(prefix)) names.push_back(capture.name);
    capture_gradients(loss, names);
}

ObservedGraph::ObservedGraph(const Graph& captured, const Network& network,
                             std::string_view prefix) {
    const std::vector<std::string> known = capture_names(captured);
    const Blueprint& blueprint = network.blueprint();
    const int head = blueprint.grid.slots();
    std::vector<std::string> names;
    const auto add = [&](int slot, const AnyLayer& layer, Direction direction) {
        std::string name = watched_name(prefix, slot, head);
        if (direction == Direction::gradient) name += gradient_suffix;
        if (std::ranges::find(known, name) == known.end()) return;
        names.push_back(std::move(name));
        subjects_.push_back({.slot = slot,
                             .direction = direction,
                             .place = place_name(blueprint.grid, slot),
                             .layer = std::string(layer.type())});
    };
    for (int slot = 0; slot <= head; ++slot)
        for (const Direction direction : {Direction::forward, Direction::gradient})
            if (slot == head)
                add(slot, blueprint.head, direction);
            else if (const auto& filled = blueprint.slots[static_cast<std::size_t>(slot)])
                add(slot, filled->layer, direction);

    const Graph exposed = with_captures(captured, names);
    std::vector<Var> inputs;
    for (std::size_t i = 0; i < exposed.inputs().size(); ++i) {
        const ValueInfo& info = exposed.value(exposed.inputs()[i]);
        inputs.push_back(
            graph_.input(exposed.input_name(i), info.type, info.shape, info.per_individual));
    }
    const std::vector<Var> values = inline_graph(graph_, exposed, inputs);
    CAMBRIAN_ASSERT(values.size() >= subjects_.size());
    const auto watched = std::span(values).last(subjects_.size());
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
        subjects_[i].count = watched[i].shape().elements();
        subjects_[i].per_individual = watched[i].info().per_individual;
        graph_.output(statistics_of(watched[i]));
    }
}

std::vector<Observation> ObservedGraph::read(std::int64_t step, std::int64_t population,
                                             std::span<const Tensor> outputs) const {
    CAMBRIAN_ASSERT(outputs.size() == subjects_.size());
    std::vector<Observation> result;
    for (std::int64_t individual = 0; individual < population; ++individual)
        for (std::size_t i = 0; i < subjects_.size(); ++i) {
            const Subject& subject = subjects_[i];
            const auto first =
                static_cast<std::size_t>(subject.per_individual ? individual : 0) * statistics;
            const auto numbers = std::span(outputs[i].elements).subspan(first, statistics);
            const auto bad = static_cast<std::int64_t>(numbers[not_finite]);
            Observation observation{.step = step,
                                    .individual = individual,
                                    .slot = subject.slot,
                                    .place = subject.place,
                                    .layer = subject.layer,
                                    .direction = subject.direction,
                                    .count = subject.count,
                                    .not_finite = bad};
            observation.active = numbers[active] / static_cast<double>(subject.count);
            if (bad < subject.count) {
                observation.mean = numbers[sum] / static_cast<double>(subject.count - bad);
                observation.max = numbers[most];
                observation.min = numbers[least];
            }
            result.push_back(std::move(observation));
        }
    return result;
}

}  // namespace cambrian
