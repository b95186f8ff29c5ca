#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/engine/onnx/builder.hpp"
#include "cambrian/engine/onnx/translation.hpp"

namespace cambrian::onnx {

/// One node of a graph of ours while it is written: what its operands are in the model, and what
/// becomes of its results. Axes and shapes of ours do not have the batch, those of the model do.
class NodeWriter {
  public:
    /// @param places of all values of the graph.
    NodeWriter(Builder& builder, const Graph& graph, const Node& node, std::vector<Place>& places)
        : builder_(builder), graph_(graph), node_(node), places_(places) {}

    [[nodiscard]] Builder& builder() const { return builder_; }
    [[nodiscard]] const Node& node() const { return node_; }
    template <class T>
    [[nodiscard]] const T& attribute() const {
        return cambrian::attribute<T>(node_.attributes);
    }
    [[nodiscard]] std::size_t count() const { return node_.operand_count; }
    [[nodiscard]] const ValueInfo& info(std::size_t operand = 0) const {
        return graph_.value(graph_.operands(node_)[operand]);
    }
    [[nodiscard]] const ValueInfo& result(std::size_t index = 0) const {
        return graph_.value(result_id(index));
    }
    [[nodiscard]] const Place& place(std::size_t operand = 0) const {
        return places_[static_cast<std::size_t>(graph_.operands(node_)[operand])];
    }
    [[nodiscard]] bool batched(std::size_t operand = 0) const { return place(operand).batched; }
    /// Whether an operand is, and so the results.
    [[nodiscard]] bool any_batched() const;

    /// Name of an operand.
    [[nodiscard]] std::string name(std::size_t operand = 0) const;
    /// The operand with axes of extent 1 after its batch, so that it broadcasts with values of the
    /// rank of the result.
    [[nodiscard]] std::string aligned(std::size_t operand) const;
    [[nodiscard]] std::vector<std::string> all_aligned() const;
    /// The operand with the batch, if it has none.
    [[nodiscard]] std::string spread(std::size_t operand) const;

    /// An axis of an operand in the model.
    [[nodiscard]] std::int64_t axis(int ours, std::size_t operand = 0) const {
        return info(operand).shape.normalise_axis(ours) + (batched(operand) ? 1 : 0);
    }
    /// The value reshaped; a value with the batch keeps it. Contract: no extent is 0.
    [[nodiscard]] std::string reshaped(const std::string& value, std::vector<std::int64_t> extents,
                                       bool has_batch) const;

    std::string add(std::string_view operation, std::vector<std::string> inputs,
                    std::vector<Attribute> attributes = {}) const {
        return builder_.add(operation, std::move(inputs), std::move(attributes));
    }
    /// Says what a result is.
    void give(std::string value, std::size_t index = 0) const {
        give(Place::of_value(std::move(value), any_batched()), index);
    }
    void give(Place place, std::size_t index = 0) const {
        places_[static_cast<std::size_t>(result_id(index))] = std::move(place);
    }

  private:
    [[nodiscard]] ValueId result_id(std::size_t index) const {
        return ValueId{node_.first_result + static_cast<std::uint32_t>(index)};
    }

    Builder& builder_;
    const Graph& graph_;
    const Node& node_;
    std::vector<Place>& places_;
};

/// The name of a value in the model; writes a constant that no node has read so far.
[[nodiscard]] std::string written(Builder& builder, Place& place);
/// The same with the batch as first axis.
[[nodiscard]] std::string with_batch(Builder& builder, Place& place, const ValueInfo& info);
/// translate(), but for what the outputs are.
[[nodiscard]] std::vector<Place> translate_places(Builder& builder, const Graph& graph,
                                                  std::vector<Place> inputs);

/// One row of the table of ops: how one is written.
struct OpRow {
    Op op = Op::count_;
    std::string_view operation;  ///< Of ONNX, where one node of it says all.
    void (*write)(const NodeWriter& node, std::string_view operation) = nullptr;
};
/// Null for an op that ONNX cannot say, and for a fused one that its lowering says.
[[nodiscard]] const OpRow* op_row(Op op);

// Rows that take more than a node or two.
void write_cast(const NodeWriter& node, std::string_view operation);
void write_im2col(const NodeWriter& node, std::string_view operation);
void write_col2im(const NodeWriter& node, std::string_view operation);
void write_conv(const NodeWriter& node, std::string_view operation);
void write_scan(const NodeWriter& node, std::string_view operation);

}  // namespace cambrian::onnx
