#pragma once

#include <array>
#include <span>
#include <vector>

#include "cambrian/engine/graph/plan/plan.hpp"

namespace cambrian::test {

/// Walks a plan like an executor, writing each value's id over its arena elements, and finds
/// operands and outputs whose elements were overwritten before they were read. What replaces an
/// input is taken to lie where the input does.
class PlanWalk {
  public:
    PlanWalk(const Graph& graph, const Plan& plan)
        : graph_(graph),
          plan_(plan),
          arenas_{
              std::vector<std::uint32_t>(static_cast<std::size_t>(plan.shared_elements)),
              std::vector<std::uint32_t>(static_cast<std::size_t>(plan.per_individual_elements))} {}

    bool every_read_is_intact() {
        for (std::uint32_t id = 0; id < graph_.value_count(); ++id)
            if (!fits(ValueId{id})) return false;
        for (const Node& node : graph_.nodes()) {
            bool runs = false;
            for (std::uint32_t i = 0; i < node.result_count; ++i) {
                const Placement::Kind kind = plan_.values[node.first_result + i].kind;
                runs = runs || (kind != Placement::Kind::unused && kind != Placement::Kind::alias);
            }
            if (!runs) continue;
            for (const ValueId id : graph_.operands(node))
                if (!intact(id)) return false;
            for (std::uint32_t i = 0; i < node.result_count; ++i)
                write(ValueId{node.first_result + i});
            // Writing a result must leave the operands alone: kernels read and write together.
            for (const ValueId id : graph_.operands(node))
                if (!intact(id) && !read_in_place(node, id)) return false;
        }
        for (const ValueId id : graph_.outputs())
            if (!intact(id)) return false;
        return true;
    }

  private:
    using Kind = Placement::Kind;

    std::span<std::uint32_t> elements(ValueId id) {
        auto& arena = arenas_[graph_.value(id).per_individual ? 1 : 0];
        return std::span(arena).subspan(
            static_cast<std::size_t>(plan_.values[static_cast<std::size_t>(id)].offset),
            static_cast<std::size_t>(graph_.value(id).shape.elements()));
    }
    bool fits(ValueId id) {
        const Placement& place = plan_.values[static_cast<std::size_t>(id)];
        const auto& arena = arenas_[graph_.value(id).per_individual ? 1 : 0];
        const std::int64_t end = place.offset + graph_.value(id).shape.elements();
        return place.kind != Kind::arena || end <= static_cast<std::int64_t>(arena.size());
    }
    /// Whether the node writes each element only after it was read, for good.
    bool read_in_place(const Node& node, ValueId id) {
        return (is_elementwise(node.op) || node.op == Op::fused) &&
               graph_.value(id).shape.elements() ==
                   graph_.value(ValueId{node.first_result}).shape.elements();
    }
    void replace_input(const Placement& place) {
        for (const Update& update : graph_.updates())
            if (place.kind == Kind::output && place.index == update.output)
                replaced_[static_cast<std::size_t>(graph_.inputs()[update.input])] = true;
    }
    void write(ValueId id) {
        replace_input(plan_.values[static_cast<std::size_t>(id)]);
        if (plan_.values[static_cast<std::size_t>(id)].kind != Kind::arena) return;
        for (std::uint32_t& element : elements(id)) element = static_cast<std::uint32_t>(id) + 1;
    }
    bool intact(ValueId id) {
        const Placement& place = plan_.values[static_cast<std::size_t>(id)];
        if (place.kind == Kind::unused) return false;
        if (place.kind == Kind::alias) return intact(place.base);
        if (replaced_[static_cast<std::size_t>(id)]) return false;
        if (place.kind != Kind::arena) return true;
        for (const std::uint32_t element : elements(id))
            if (element != static_cast<std::uint32_t>(id) + 1) return false;
        return true;
    }

    const Graph& graph_;
    const Plan& plan_;
    std::array<std::vector<std::uint32_t>, 2> arenas_;
    std::vector<bool> replaced_ = std::vector<bool>(graph_.value_count(), false);
};

}  // namespace cambrian::test
