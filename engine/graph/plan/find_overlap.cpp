#include <algorithm>

#include "cambrian/engine/graph/plan/liveness.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"

// Checks a plan against the graph alone: lifetimes are counted anew from the placements, not taken
// from the planner.
namespace cambrian {
namespace {

using Kind = Placement::Kind;

/// Elements of the arena a value occupies, and the nodes between which it may not be overwritten.
struct Occupied {
    ValueId id{};
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::size_t first = 0;
    std::size_t last = 0;
};

std::string label(const Graph& graph, ValueId id) {
    return "v" + std::to_string(static_cast<std::uint32_t>(id)) + " " +
           graph.value(id).shape.text();
}

ValueId root_of(const Plan& plan, ValueId id) {
    const Placement& placement = plan.values[static_cast<std::size_t>(id)];
    return placement.kind == Kind::alias ? placement.base : id;
}

/// A node is run when it has a result that is computed.
bool is_run(const Node& node, const Plan& plan) {
    for (std::uint32_t id = node.first_result; id < node.first_result + node.result_count; ++id)
        if (plan.values[id].kind != Kind::unused && plan.values[id].kind != Kind::alias)
            return true;
    return false;
}

std::vector<Occupied> occupied_ranges(const Graph& graph, const Plan& plan) {
    std::vector<Occupied> all(graph.value_count());
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
        const Node& node = graph.nodes()[i];
        for (std::uint32_t id = node.first_result; id < node.first_result + node.result_count;
             ++id) {
            const std::int64_t begin = plan.values[id].offset;
            all[id] = {ValueId{id}, begin, begin + graph.value(ValueId{id}).shape.elements(), i, i};
        }
        if (!is_run(node, plan)) continue;
        for (const ValueId id : graph.operands(node))
            all[static_cast<std::size_t>(root_of(plan, id))].last = i;
    }
    for (const ValueId id : graph.outputs())
        all[static_cast<std::size_t>(root_of(plan, id))].last = graph.nodes().size();
    std::erase_if(all, [&](const Occupied& o) {
        return plan.values[static_cast<std::size_t>(o.id)].kind != Kind::arena || o.begin == o.end;
    });
    return all;
}

std::optional<std::string> find_misplaced(const Graph& graph, const Plan& plan) {
    for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
        const ValueId id{i};
        const Placement& placement = plan.values[i];
        const std::int64_t end = placement.offset + graph.value(id).shape.elements();
        if (placement.kind == Kind::arena) {
            const auto size = graph.value(id).per_individual ? plan.per_individual_elements
                                                             : plan.shared_elements;
            if (placement.offset < 0 || end > size) return label(graph, id) + " leaves the arena";
        }
        if (placement.kind != Kind::alias) continue;
        const Placement& base = plan.values[static_cast<std::size_t>(placement.base)];
        if (base.kind == Kind::alias || base.kind == Kind::unused)
            return label(graph, id) + " shares elements with " + label(graph, placement.base) +
                   ", which has none";
        if (placement.offset < 0 || end > graph.value(placement.base).shape.elements())
            return label(graph, id) + " leaves " + label(graph, placement.base);
    }
    return std::nullopt;
}

/// A value that is read or an output must be somewhere.
std::optional<std::string> find_missing(const Graph& graph, const Plan& plan) {
    const auto missing = [&](ValueId id) {
        return plan.values[static_cast<std::size_t>(id)].kind == Kind::unused;
    };
    for (const ValueId id : graph.outputs())
        if (missing(id)) return label(graph, id) + " is an output and has no place";
    for (const Node& node : graph.nodes()) {
        if (!is_run(node, plan)) continue;
        for (const ValueId id : graph.operands(node))
            if (missing(id)) return label(graph, id) + " is read and has no place";
    }
    return std::nullopt;
}

/// Whether a node may write where an input lies that it reads itself.
bool writes_in_place(const Graph& graph, const Plan& plan, const Node& node, ValueId input) {
    Liveness live;
    for (std::uint32_t id = 0; id < graph.value_count(); ++id) {
        const Placement& placement = plan.values[id];
        live.roots.push_back(root_of(plan, ValueId{id}));
        live.offsets.push_back(placement.kind == Kind::alias ? placement.offset : 0);
    }
    return reads_in_place(graph, live, node, input);
}

/// A node or a copy at the end that reads an input after its new content was written there.
std::optional<std::string> find_lost_input(const Graph& graph, const Plan& plan,
                                           const Update& update) {
    const ValueId input = graph.inputs()[update.input];
    const ValueId value = root_of(plan, graph.outputs()[update.output]);
    const Placement& placement = plan.values[static_cast<std::size_t>(value)];
    const auto reads = [&](ValueId id) { return root_of(plan, id) == input; };
    const std::string replaced = "input " + label(graph, input) + " is replaced by " +
                                 label(graph, value) + " before it is ";
    for (const Update& other : graph.updates())
        if (reads(graph.outputs()[other.output])) return replaced + "copied to an output";
    if (placement.kind != Kind::output || placement.index != update.output) return std::nullopt;

    const auto written = static_cast<std::size_t>(&graph.producer(value) - graph.nodes().data());
    for (std::size_t i = written; i < graph.nodes().size(); ++i) {
        const Node& node = graph.nodes()[i];
        if (!is_run(node, plan) || !std::ranges::any_of(graph.operands(node), reads)) continue;
        if (i > written || !writes_in_place(graph, plan, node, input))
            return replaced + "read by node " + std::to_string(i);
    }
    if (std::ranges::any_of(graph.outputs(), reads)) return replaced + "copied to an output";
    return std::nullopt;
}

}  // namespace

std::optional<std::string> find_overlap(const Graph& graph, const Plan& plan) {
    if (auto problem = find_missing(graph, plan)) return problem;
    if (auto problem = find_misplaced(graph, plan)) return problem;
    for (const Update& update : graph.updates())
        if (auto problem = find_lost_input(graph, plan, update)) return problem;
    const std::vector<Occupied> ranges = occupied_ranges(graph, plan);
    for (std::size_t i = 0; i < ranges.size(); ++i)
        for (std::size_t j = i + 1; j < ranges.size() && ranges[j].first <= ranges[i].last; ++j) {
            const Occupied& a = ranges[i];
            const Occupied& b = ranges[j];
            const bool same_arena =
                graph.value(a.id).per_individual == graph.value(b.id).per_individual;
            if (same_arena && a.begin < b.end && b.begin < a.end)
                return label(graph, a.id) + " and " + label(graph, b.id) +
                       " overlap while both are alive";
        }
    return std::nullopt;
}

}  // namespace cambrian
