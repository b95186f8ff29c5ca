#include "cambrian/engine/graph/plan/plan.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/plan/liveness.hpp"

namespace cambrian {
namespace {

/// Free ranges of one arena, kept sorted by offset and merged.
class Arena {
  public:
    explicit Arena(std::int64_t alignment) : alignment_(alignment) {}

    [[nodiscard]] std::int64_t place(std::int64_t elements) {
        const std::int64_t size = rounded(elements);
        auto best = free_.end();
        for (auto it = free_.begin(); it != free_.end(); ++it)
            if (it->size >= size && (best == free_.end() || it->size < best->size)) best = it;
        if (best == free_.end()) return grow(size);
        const std::int64_t offset = best->offset;
        best->offset += size;
        best->size -= size;
        if (best->size == 0) free_.erase(best);
        return offset;
    }

    void release(std::int64_t offset, std::int64_t elements) {
        const std::int64_t size = rounded(elements);
        if (size == 0) return;
        auto next = std::ranges::lower_bound(free_, offset, {}, &Range::offset);
        next = free_.insert(next, {offset, size});
        if (next + 1 != free_.end() && next->offset + next->size == (next + 1)->offset) {
            next->size += (next + 1)->size;
            free_.erase(next + 1);
        }
        if (next != free_.begin() && (next - 1)->offset + (next - 1)->size == next->offset) {
            (next - 1)->size += next->size;
            free_.erase(next);
        }
    }

    [[nodiscard]] std::int64_t size() const { return size_; }

  private:
    struct Range {
        std::int64_t offset = 0;
        std::int64_t size = 0;
    };

    [[nodiscard]] std::int64_t rounded(std::int64_t elements) const {
        return (elements + alignment_ - 1) / alignment_ * alignment_;
    }

    /// Extends the arena; a free range at its end becomes part of the new one.
    std::int64_t grow(std::int64_t size) {
        std::int64_t offset = size_;
        if (!free_.empty() && free_.back().offset + free_.back().size == size_) {
            offset = free_.back().offset;
            free_.pop_back();
        }
        size_ = offset + size;
        return offset;
    }

    std::int64_t alignment_;
    std::int64_t size_ = 0;
    std::vector<Range> free_;
};

/// Places the values that need no arena and returns those that do, in the order of their nodes.
std::vector<ValueId> place_outside_arena(const Graph& graph, const Liveness& live,
                                         std::vector<Placement>& values) {
    using Kind = Placement::Kind;
    std::vector<ValueId> temporaries;
    for (const Node& node : graph.nodes()) {
        for (std::uint32_t id = node.first_result; id < node.first_result + node.result_count;
             ++id) {
            const bool alias = live.roots[id] != ValueId{id};
            if (alias && live.intervals[id].needed)
                values[id] = {Kind::alias, 0, live.roots[id], live.offsets[id]};
            else if (node.op == Op::constant && live.intervals[id].needed)
                values[id].kind = Kind::constant;
            else if (!alias && !is_bound(node.op) && live.intervals[id].needed)
                temporaries.push_back(ValueId{id});
        }
    }
    for (std::uint32_t i = 0; i < graph.inputs().size(); ++i)
        values[static_cast<std::size_t>(graph.inputs()[i])] = {Kind::input, i, {}, 0};

    // A computed value, or the one it is a view of, is written straight into its binding. Updates
    // come first: there a copy at the end would cost most.
    std::vector<bool> in_output(graph.value_count(), false);
    const auto place = [&](std::uint32_t output) {
        const ValueId value = graph.outputs()[output];
        const auto id = static_cast<std::size_t>(value);
        const ValueId root = live.roots[id];
        const bool whole = live.offsets[id] == 0 && graph.value(root).shape.elements() ==
                                                        graph.value(value).shape.elements();
        if (!std::ranges::binary_search(temporaries, root) || !whole ||
            in_output[static_cast<std::size_t>(root)])
            return;
        values[static_cast<std::size_t>(root)] = {Kind::output, output, {}, 0};
        in_output[static_cast<std::size_t>(root)] = true;
    };
    for (const Update& update : graph.updates())
        if (replaces_directly(graph, live, update)) place(update.output);
    for (std::uint32_t i = 0; i < graph.outputs().size(); ++i)
        if (std::ranges::find(graph.updates(), i, &Update::output) == graph.updates().end())
            place(i);
    std::erase_if(temporaries,
                  [&](ValueId id) { return bool{in_output[static_cast<std::size_t>(id)]}; });
    return temporaries;
}

Plan make_plan(const Graph& graph, bool reuse) {
    const Liveness live = liveness(graph);
    Plan plan;
    plan.values.resize(graph.value_count());
    const std::vector<ValueId> temporaries = place_outside_arena(graph, live, plan.values);
    Arena per_individual(1);
    Arena shared(Plan::shared_alignment);
    const auto arena = [&](ValueId id) -> Arena& {
        return graph.value(id).per_individual ? per_individual : shared;
    };

    std::vector<std::vector<ValueId>> dying(graph.nodes().size() + 1);
    std::uint32_t node = 0;
    const auto release_before = [&](std::uint32_t end) {
        for (; node < end; ++node)
            for (const ValueId id : dying[node])
                arena(id).release(plan.values[static_cast<std::size_t>(id)].offset,
                                  graph.value(id).shape.elements());
    };
    for (const ValueId id : temporaries) {
        const Interval& interval = live.intervals[static_cast<std::size_t>(id)];
        if (reuse) release_before(interval.first);
        const std::int64_t offset = arena(id).place(graph.value(id).shape.elements());
        plan.values[static_cast<std::size_t>(id)] = {Placement::Kind::arena, 0, {}, offset};
        dying[interval.last].push_back(id);
    }
    plan.per_individual_elements = per_individual.size();
    plan.shared_elements = shared.size();
    CAMBRIAN_ENSURE(!find_overlap(graph, plan));
    return plan;
}

}  // namespace

Plan plan(const Graph& graph) {
    return make_plan(graph, true);
}

std::int64_t computed_elements(const Graph& graph) {
    const Liveness live = liveness(graph);
    std::int64_t elements = 0;
    for (const Node& node : graph.nodes()) {
        if (is_bound(node.op)) continue;
        for (std::uint32_t id = node.first_result; id < node.first_result + node.result_count; ++id)
            if (live.roots[id] == ValueId{id} && live.intervals[id].needed)
                elements += graph.value(ValueId{id}).shape.elements();
        if (node.op == Op::scan)
            elements += computed_elements(*std::get<ScanAttribute>(node.attributes).body);
    }
    return elements;
}

Plan plan_without_reuse(const Graph& graph) {
    return make_plan(graph, false);
}

}  // namespace cambrian
