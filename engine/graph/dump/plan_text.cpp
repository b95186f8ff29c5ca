#include <algorithm>
#include <array>

#include "cambrian/engine/graph/dump/text.hpp"
#include "cambrian/engine/graph/plan/liveness.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian {
namespace {

using Kind = Placement::Kind;

std::string place_text(const Placement& placement) {
    const std::string index = std::to_string(placement.index);
    const std::string offset = std::to_string(placement.offset * word_bytes);
    // In the order of Placement::Kind.
    const std::array texts{
        std::string("nowhere"), "input " + index,
        "output " + index,      std::string("constant"),
        "arena at " + offset,   "in " + value_label(placement.base) + " at " + offset};
    return texts[static_cast<std::size_t>(placement.kind)];
}

std::string arena_text(const Plan& plan) {
    return "arena " + std::to_string(plan.per_individual_elements * word_bytes) +
           " bytes of each individual, " + std::to_string(plan.shared_elements * word_bytes) +
           " bytes of all\n";
}

std::string value_line(const Graph& graph, const Plan& plan, const Liveness& live,
                       std::uint32_t id) {
    const ValueInfo& info = graph.value(ValueId{id});
    const Interval& interval = live.intervals[id];
    std::string text = value_label(ValueId{id}) + " " + info_text(info) + ": " +
                       place_text(plan.values[id]) + ", " +
                       std::to_string(info.shape.elements() * word_bytes) + " bytes";
    if (plan.values[id].kind != Kind::alias && plan.values[id].kind != Kind::unused)
        text += ", nodes " + std::to_string(interval.first) + " to " +
                (interval.last == graph.nodes().size() ? std::string("the end")
                                                       : std::to_string(interval.last));
    return text + "\n";
}

std::string plan_text(const Graph& graph, const std::string& indent) {
    const Plan planned = plan(graph);
    const Liveness live = liveness(graph);
    std::string text = indent + arena_text(planned);
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
        const Node& node = graph.nodes()[i];
        text += indent + std::to_string(i) + " " + std::string(name(node.op)) + "\n";
        for (std::uint32_t id = node.first_result; id < node.first_result + node.result_count; ++id)
            text += indent + "  " + value_line(graph, planned, live, id);
        if (node.op == Op::scan) text += plan_text(*body_of(node), indent + "    ");
    }
    return text;
}

}  // namespace

std::string dump_plan(const Graph& graph) {
    return plan_text(graph, "");
}

}  // namespace cambrian
