#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/engine/onnx/builder.hpp"

// A graph of ours as nodes of ONNX.
namespace cambrian::onnx {

/// Numbers that are known: so many elements of a shared list as the shape has, from one on.
struct Constant {
    std::shared_ptr<const std::vector<double>> all;
    std::int64_t start = 0;
    ValueType type = ValueType::real;
    Shape shape{};

    [[nodiscard]] std::span<const double> elements() const {
        return std::span(*all).subspan(static_cast<std::size_t>(start),
                                       static_cast<std::size_t>(shape.elements()));
    }
};

/// A value of a graph as a model has it: one that runs compute, or a constant, which is written
/// when a node reads it.
struct Place {
    std::string name{};    ///< Of a constant that is not written yet: the one that is wanted.
    bool batched = false;  ///< Whether the batch is a further first axis.
    std::optional<Constant> constant{};
    bool written = true;
    /// Of a vector that is sliced: names of what begins at an element.
    std::shared_ptr<const std::map<std::int64_t, std::string>> parts{};

    [[nodiscard]] static Place of_value(std::string value, bool is_batched) {
        return {.name = std::move(value), .batched = is_batched};
    }
    [[nodiscard]] static Place of_constant(Constant value, std::string wanted) {
        return {.name = std::move(wanted), .constant = std::move(value), .written = false};
    }
    [[nodiscard]] static Place of_constant(Tensor value, std::string wanted) {
        return {.name = std::move(wanted),
                .constant =
                    Constant{std::make_shared<const std::vector<double>>(std::move(value.elements)),
                             0, value.type, value.shape},
                .written = false};
    }
};

/// Appends the nodes of a graph. The batch of a model takes the place of the population: every
/// value that is per individual has it as a first axis of any extent.
/// @param inputs for each input of the graph what it is in the model.
/// @return names of the outputs, all with the batch.
/// Contract: the graph has no op of which refused_op tells, and no fused one without nodes.
[[nodiscard]] std::vector<std::string> translate(Builder& builder, const Graph& graph,
                                                 std::vector<Place> inputs);

/// Whether an op has nodes of its own; other fused ones are written as their lowerings.
[[nodiscard]] bool has_nodes(Op op);

/// An op that ONNX has no nodes for, and the capture of the graph (or of the body of a scan) that
/// it comes before: what a watched network calls the slot that it belongs to. Null: there is none.
struct RefusedOp {
    const OpInfo* op = nullptr;
    std::string capture{};
};
[[nodiscard]] RefusedOp refused_op(const Graph& graph);

}  // namespace cambrian::onnx
