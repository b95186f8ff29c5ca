#include <algorithm>

#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/graph/plan/liveness.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"

namespace cambrian {
namespace {

/// Words of an individual weigh as many as those that all share: populations are large.
constexpr std::int64_t individuals = 256;

/// Picks one node after another, always the one that frees most beyond what it needs.
class ListSchedule {
  public:
    explicit ListSchedule(const Graph& graph)
        : graph_(graph),
          live_(liveness(graph)),
          readers_left_(graph.value_count(), 0),
          words_(graph.value_count(), 0),
          reads_(graph.nodes().size()),
          successors_(graph.nodes().size()),
          waiting_for_(graph.nodes().size(), 0) {
        weigh_values();
        for (std::size_t i = 0; i < graph.nodes().size(); ++i) link(i);
        for (const Update& update : graph.updates()) hold_back(update);
    }

    /// The least that any order needs: what a node reads and writes at once.
    [[nodiscard]] std::int64_t min_words() const {
        std::int64_t least = 0;
        for (std::size_t i = 0; i < reads_.size(); ++i) {
            std::int64_t words = allocated(i);
            for (const ValueId root : reads_[i]) words += words_[index(root)];
            least = std::max(least, words);
        }
        return least;
    }

    /// @param greedy or as near to the order of the graph as updates allow.
    [[nodiscard]] std::vector<std::size_t> order(bool greedy) {
        greedy_ = greedy;
        std::vector<std::size_t> order;
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < reads_.size(); ++i)
            if (waiting_for_[i] == 0 && graph_.nodes()[i].op != Op::input) insert(ready, i);
        // Inputs are bound by position, so they keep their order.
        for (std::size_t i = 0; i < reads_.size(); ++i)
            if (graph_.nodes()[i].op == Op::input) take(i, order, ready);
        while (!ready.empty()) {
            const auto best = std::ranges::max_element(
                ready, [&](std::size_t a, std::size_t b) { return gain(a) < gain(b); });
            const std::size_t node = *best;
            ready.erase(best);
            take(node, order, ready);
        }
        return order;
    }

  private:
    static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

    /// Kept sorted, so that the first of several equal nodes is the one that came first.
    static void insert(std::vector<std::size_t>& ready, std::size_t node) {
        ready.insert(std::ranges::lower_bound(ready, node), node);
    }

    void weigh_values() {
        for (std::uint32_t id = 0; id < graph_.value_count(); ++id) {
            const ValueInfo& info = graph_.value(ValueId{id});
            const Op op = graph_.producer(ValueId{id}).op;
            if (live_.roots[id] == ValueId{id} && live_.intervals[id].needed && !is_bound(op))
                words_[id] = info.shape.elements() * (info.per_individual ? individuals : 1);
        }
        for (const ValueId id : graph_.outputs()) words_[index(live_.roots[index(id)])] = 0;
    }

    void link(std::size_t i) {
        const Node& node = graph_.nodes()[i];
        for (const ValueId id : graph_.operands(node)) {
            const auto before =
                static_cast<std::size_t>(&graph_.producer(id) - graph_.nodes().data());
            successors_[before].push_back(i);
            ++waiting_for_[i];
            if (!alias_of(graph_, node)) reads_[i].push_back(live_.roots[index(id)]);
        }
        std::ranges::sort(reads_[i]);
        reads_[i].erase(std::ranges::unique(reads_[i]).begin(), reads_[i].end());
        for (const ValueId root : reads_[i]) ++readers_left_[index(root)];
    }

    /// The new content of an input is computed after all that read the old one, where it can be:
    /// then it is written right there.
    void hold_back(const Update& update) {
        const ValueId root = live_.roots[index(graph_.outputs()[update.output])];
        // An input that becomes another one's content is copied at the end and keeps its place.
        if (graph_.producer(root).op == Op::input) return;
        const auto writer =
            static_cast<std::size_t>(&graph_.producer(root) - graph_.nodes().data());
        std::vector<std::size_t> readers;
        for (std::size_t i = 0; i < reads_.size(); ++i)
            if (i != writer && std::ranges::binary_search(reads_[i], graph_.inputs()[update.input]))
                readers.push_back(i);
        std::vector<bool> later(reads_.size(), false);
        std::vector<std::size_t> open{writer};
        while (!open.empty()) {
            const std::size_t node = open.back();
            open.pop_back();
            for (const std::size_t next : successors_[node])
                if (!later[next]) {
                    later[next] = true;
                    open.push_back(next);
                }
        }
        if (std::ranges::any_of(readers, [&](std::size_t i) { return bool{later[i]}; })) return;
        for (const std::size_t reader : readers) {
            successors_[reader].push_back(writer);
            ++waiting_for_[writer];
        }
    }

    [[nodiscard]] std::int64_t allocated(std::size_t i) const {
        const Node& node = graph_.nodes()[i];
        std::int64_t words = 0;
        for (std::uint32_t r = 0; r < node.result_count; ++r)
            words += words_[node.first_result + r];
        return words;
    }

    [[nodiscard]] std::int64_t gain(std::size_t i) const {
        if (!greedy_) return 0;
        std::int64_t words = -allocated(i);
        for (const ValueId root : reads_[i])
            if (readers_left_[index(root)] == 1) words += words_[index(root)];
        return words;
    }

    void take(std::size_t i, std::vector<std::size_t>& order, std::vector<std::size_t>& ready) {
        order.push_back(i);
        for (const ValueId root : reads_[i]) --readers_left_[index(root)];
        for (const std::size_t next : successors_[i])
            if (--waiting_for_[next] == 0) insert(ready, next);
    }

    const Graph& graph_;
    Liveness live_;
    std::vector<std::size_t> readers_left_;    ///< Nodes yet to come that read a root.
    std::vector<std::int64_t> words_;          ///< Of the arena, weighed; 0 for what is not there.
    std::vector<std::vector<ValueId>> reads_;  ///< Roots that a node reads, each once.
    std::vector<std::vector<std::size_t>> successors_;  ///< One entry for each operand.
    std::vector<std::size_t> waiting_for_;              ///< Operands that are yet to be computed.
    bool greedy_ = true;
};

Graph with_scheduled_bodies(const Graph& graph) {
    if (std::ranges::find(graph.nodes(), Op::scan, &Node::op) == graph.nodes().end()) return graph;
    Graph result;
    GraphCopy copy(graph, result);
    for (const Node& node : graph.nodes()) {
        if (node.op == Op::scan)
            copy.copy(node, with_body(node, schedule));
        else
            copy.copy(node);
    }
    copy.outputs();
    return result;
}

Graph reordered(const Graph& graph, std::span<const std::size_t> order) {
    Graph result;
    GraphCopy copy(graph, result);
    for (const std::size_t i : order) copy.copy(graph.nodes()[i]);
    copy.outputs();
    return result;
}

std::int64_t weighed(const Plan& plan) {
    return plan.per_individual_elements * individuals + plan.shared_elements;
}

/// Less of one arena and no more of the other.
bool is_better(const Plan& a, const Plan& b) {
    return a.per_individual_elements <= b.per_individual_elements &&
           a.shared_elements <= b.shared_elements && weighed(a) < weighed(b);
}

}  // namespace

Graph schedule(const Graph& graph) {
    Graph result = with_scheduled_bodies(graph);
    if (!result.updates().empty()) result = reordered(result, ListSchedule(result).order(false));
    ListSchedule list(result);
    const Plan before = plan(result);
    if (weighed(before) <= list.min_words()) return result;
    Graph other = reordered(result, list.order(true));
    return is_better(plan(other), before) ? other : result;
}

}  // namespace cambrian
