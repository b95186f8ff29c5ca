#include <algorithm>
#include <functional>
#include <optional>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/graph/plan/liveness.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian {
namespace {

/// Nodes that are computed again to have one value again.
constexpr std::size_t max_nodes = 8;
/// Graphs that are tried: each is planned.
constexpr int max_trials = 256;

std::size_t index(ValueId id) {
    return static_cast<std::size_t>(id);
}

bool is_cheap(const Node& node) {
    if (node.result_count != 1 || node.op == Op::input) return false;
    return is_elementwise(node.op) || is_movement(node.op) || node.op == Op::fused;
}

/// A value that is kept over the peak, and what computes it again for its first reader after it.
struct Candidate {
    ValueId value{};
    std::size_t reader = 0;
    std::vector<std::size_t> nodes;  ///< In order; the last one computes the value.
};

class Peak {
  public:
    explicit Peak(const Graph& graph)
        : graph_(graph), live_(liveness(graph)), plan_(plan(graph)), readers_(graph.value_count()) {
        for (std::size_t i = 0; i < graph.nodes().size(); ++i)
            if (!alias_of(graph, graph.nodes()[i]))
                for (const ValueId id : graph.operands(graph.nodes()[i]))
                    readers_[index(live_.roots[index(id)])].push_back(i);
    }

    [[nodiscard]] std::int64_t words() const { return plan_.per_individual_elements; }

    /// Largest first.
    [[nodiscard]] std::vector<Candidate> candidates() const {
        const std::size_t peak = node_of_peak();
        std::vector<Candidate> found;
        for (std::uint32_t id = 0; id < graph_.value_count(); ++id) {
            if (!is_kept(ValueId{id}) || live_.intervals[id].first >= peak) continue;
            const auto& readers = readers_[id];
            const auto after = std::ranges::lower_bound(readers, peak);
            // Kept as an output, not read later, or needed at the peak itself.
            if (live_.intervals[id].last == graph_.nodes().size() || after == readers.end() ||
                *after == peak)
                continue;
            Candidate candidate{ValueId{id}, *after, {}};
            if (collect(ValueId{id}, candidate)) found.push_back(std::move(candidate));
        }
        std::ranges::stable_sort(found, std::greater{}, [&](const Candidate& candidate) {
            return graph_.value(candidate.value).shape.elements();
        });
        return found;
    }

    [[nodiscard]] Graph without(const Candidate& candidate) const {
        Graph result;
        GraphCopy copy(graph_, result);
        for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
            if (i == candidate.reader) compute_again(candidate, copy);
            copy.copy(graph_.nodes()[i]);
        }
        copy.outputs();
        return eliminate_dead_code(result);
    }

  private:
    /// Whether a value of every individual has elements of its own in the arena.
    [[nodiscard]] bool is_kept(ValueId id) const {
        return plan_.values[index(id)].kind == Placement::Kind::arena &&
               graph_.value(id).per_individual && graph_.value(id).shape.elements() > 0;
    }

    /// The node at which most words of every individual are kept.
    [[nodiscard]] std::size_t node_of_peak() const {
        std::vector<std::int64_t> change(graph_.nodes().size() + 2, 0);
        for (std::uint32_t id = 0; id < graph_.value_count(); ++id) {
            if (!is_kept(ValueId{id})) continue;
            const std::int64_t words = graph_.value(ValueId{id}).shape.elements();
            change[live_.intervals[id].first] += words;
            change[live_.intervals[id].last + 1] -= words;
        }
        std::int64_t now = 0;
        for (std::int64_t& words : change) words = now += words;
        return static_cast<std::size_t>(std::ranges::max_element(change) - change.begin());
    }

    /// Whether a value is still there when the candidate's reader comes.
    [[nodiscard]] bool is_there(ValueId id, std::size_t reader) const {
        const ValueId root = live_.roots[index(id)];
        const Op op = graph_.producer(root).op;
        return is_bound(op) || live_.intervals[index(root)].last >= reader;
    }

    /// The nodes that compute a value from what is there, in order; false when they are too many or
    /// one is not cheap.
    [[nodiscard]] bool collect(ValueId id, Candidate& candidate) const {
        const Node& node = graph_.producer(id);
        const auto position = static_cast<std::size_t>(&node - graph_.nodes().data());
        if (std::ranges::find(candidate.nodes, position) != candidate.nodes.end()) return true;
        if (!is_cheap(node) || candidate.nodes.size() >= max_nodes) return false;
        for (const ValueId operand : graph_.operands(node)) {
            if (!is_there(operand, candidate.reader) && !collect(operand, candidate)) return false;
        }
        candidate.nodes.push_back(position);
        return candidate.nodes.size() <= max_nodes;
    }

    void compute_again(const Candidate& candidate, GraphCopy& copy) const {
        std::vector<std::pair<ValueId, Var>> before;
        for (const std::size_t i : candidate.nodes) {
            const ValueId result{graph_.nodes()[i].first_result};
            before.emplace_back(result, copy.mapped(result));
            copy.copy(graph_.nodes()[i]);
        }
        // Only the value itself and its views are read anew.
        before.pop_back();
        for (const auto& [id, var] : before) copy.map(id, var);
        for (std::uint32_t id = 0; id < graph_.value_count(); ++id) {
            const Node& node = graph_.producer(ValueId{id});
            const auto position = static_cast<std::size_t>(&node - graph_.nodes().data());
            if (position < candidate.reader && live_.roots[id] == candidate.value &&
                ValueId{id} != candidate.value)
                copy.copy(node);
        }
    }

    const Graph& graph_;
    Liveness live_;
    Plan plan_;
    std::vector<std::vector<std::size_t>> readers_;  ///< Nodes that read a root, in order.
};

/// A graph whose peak is lower, or nothing.
std::optional<Graph> lowered_peak(const Graph& graph, std::int64_t max_words, int& trials) {
    const Peak peak(graph);
    if (peak.words() <= max_words) return std::nullopt;
    for (const Candidate& candidate : peak.candidates()) {
        if (trials-- <= 0) return std::nullopt;
        Graph changed = peak.without(candidate);
        if (plan(changed).per_individual_elements < peak.words()) return changed;
    }
    return std::nullopt;
}

}  // namespace

Graph rematerialize(const Graph& graph, std::int64_t max_bytes_per_individual) {
    Graph result = graph;
    int trials = max_trials;
    while (auto changed = lowered_peak(result, max_bytes_per_individual / word_bytes, trials))
        result = std::move(*changed);
    return result;
}

}  // namespace cambrian
