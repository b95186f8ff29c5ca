#pragma once

#include <cstdint>
#include <deque>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/graph/op.hpp"

namespace cambrian {

/// Index of a value of a graph.
enum class ValueId : std::uint32_t {};
/// Index of a node of a graph; nodes are stored in a topological order (the order of creation).
enum class NodeId : std::uint32_t {};

/// One operation of a graph. Operands and results are ranges of the graph's own arrays.
struct Node {
    Op op = Op::count_;
    std::uint32_t first_operand = 0;
    std::uint32_t operand_count = 0;
    std::uint32_t first_result = 0;  ///< Value index of the first result.
    std::uint32_t result_count = 0;
    Attributes attributes;
    std::source_location where;
};

/// An output that becomes the content of an input, by their positions.
struct Update {
    std::uint32_t input = 0;
    std::uint32_t output = 0;
    bool operator==(const Update&) const = default;
};

/// A value with a name of its own.
struct Capture {
    std::string name;
    ValueId value{};
};

/// A static-shape dataflow graph, described for one individual. A value has a batch axis,
/// one for each individual, or none (see vmap in passes.hpp); shapes never contain the
/// population. Copyable; nodes are only ever appended.
class Graph {
  public:
    /// Appends an input. Inputs are bound by position, in order of creation.
    Var input(std::string_view name, ValueType type, Shape shape, bool per_individual = false);
    Var constant(Tensor value);
    /// Appends a node after checking operands against the op table. Throws ShapeError naming the
    /// op, the operand shapes and the caller's location. Returns the first result.
    Var add(Op op, std::span<const Var> operands, Attributes attributes = {},
            std::source_location where = std::source_location::current());
    /// Gives each input (by position) a batch axis or none and spreads these axes through all
    /// nodes.
    void set_batch_axes(const std::vector<bool>& per_individual);
    /// Declares a value the next output of the graph (outputs may repeat).
    void output(Var value);
    /// Declares a value the next output, which replaces the content of an input: the
    /// caller may bind the same buffer for both. Every node reads the input as it was before the
    /// run. Throws ShapeError unless `input` is an input of this graph that nothing else replaces,
    /// of the value's type, shape and, over a population, batch axis.
    void update(Var input, Var value, std::source_location where = std::source_location::current());

    /// Names a value, so that it can be asked for after a run (gradient.hpp). A name alone costs
    /// nothing: it keeps no node alive and stops no fusion. Throws ShapeError when another value of
    /// this graph has the name.
    void capture(std::string_view name, Var value,
                 std::source_location where = std::source_location::current());
    /// Leaves the values without names: of a body that is copied for something else.
    void forget_captures() { captures_.clear(); }

    [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
    [[nodiscard]] const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
    [[nodiscard]] const Node& producer(ValueId id) const {
        return nodes_[producers_[static_cast<std::size_t>(id)]];
    }
    [[nodiscard]] std::size_t value_count() const { return values_.size(); }
    [[nodiscard]] const ValueInfo& value(ValueId id) const {
        return values_[static_cast<std::size_t>(id)];
    }
    [[nodiscard]] std::span<const ValueId> operands(const Node& node) const {
        return {operands_.data() + node.first_operand, node.operand_count};
    }
    [[nodiscard]] std::span<const ValueId> inputs() const { return inputs_; }
    [[nodiscard]] std::span<const ValueId> outputs() const { return outputs_; }
    [[nodiscard]] std::span<const Update> updates() const { return updates_; }
    [[nodiscard]] std::span<const Capture> captures() const { return captures_; }
    [[nodiscard]] const std::string& input_name(std::size_t index) const;

  private:
    friend class GraphCopy;
    void append_results(Node& node);
    void check_update(const Update& update, const std::string& where) const;

    std::vector<Node> nodes_;
    std::deque<ValueInfo> values_;  ///< A deque: Var::shape() stays valid while the graph grows.
    std::vector<std::uint32_t> producers_;  ///< Node index of every value.
    std::vector<ValueId> operands_;
    std::vector<ValueId> inputs_;
    std::vector<ValueId> outputs_;
    std::vector<Update> updates_;
    std::vector<Capture> captures_;
};

/// A value of a graph under construction: what layers and tasks compute with.
struct Var {
    Graph* graph = nullptr;
    ValueId id{};

    [[nodiscard]] const ValueInfo& info() const { return graph->value(id); }
    [[nodiscard]] const Shape& shape() const { return info().shape; }
    [[nodiscard]] int rank() const { return info().shape.rank(); }
};

/// Checks every node of a graph (and of scan bodies) against the op table: operand order, shapes,
/// types, batch axes. Throws ContractViolation: a graph that fails is our bug.
void verify(const Graph& graph);

/// Readable listing, one node a line: `v7 real [5, 16] * = matmul(v3, v6) {transpose_right}`.
[[nodiscard]] std::string dump(const Graph& graph);
/// The same for Graphviz: a box for each node, bodies of scans and fusion groups as clusters.
[[nodiscard]] std::string dump_dot(const Graph& graph);

}  // namespace cambrian
