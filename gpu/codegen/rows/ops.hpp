#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"

// What a row kernel knows about every op: whether it works row by row, what it costs, and its text.
namespace cambrian::gpu {

class RowWriter;

/// How the results of a node stand to the row axis.
enum class RowSplit : std::uint8_t {
    meets,   ///< The op would mix rows, or has no text.
    shared,  ///< One result for all rows.
    rows,    ///< Axis 0 of every result is the row axis.
};

/// A node as the rule of its op sees it.
struct RowSite {
    const ScanAttribute& scan;
    const Graph& graph;
    const Node& node;
    const std::vector<bool>& has_rows;
    std::int64_t rows;

    [[nodiscard]] ValueId id(std::size_t operand) const { return graph.operands(node)[operand]; }
    [[nodiscard]] const Shape& shape(std::size_t operand) const {
        return graph.value(id(operand)).shape;
    }
    [[nodiscard]] bool has(std::size_t operand) const {
        return has_rows[static_cast<std::size_t>(id(operand))];
    }
    [[nodiscard]] bool any() const;
    [[nodiscard]] const ValueInfo& result(std::uint32_t index = 0) const {
        return graph.value(ValueId{node.first_result + index});
    }
};

/// One row of the table of ops.cpp.
struct RowOp {
    Op op = Op::count_;
    RowSplit (*split)(const RowSite& site) = nullptr;
    void (*write)(RowWriter& writer, const Node& node) = nullptr;
    std::int64_t cost = 1;  ///< Scalar operations for one element of the result.
    bool moves = false;     ///< Only other views of the operands, as a rule.
};
[[nodiscard]] const RowOp& row_op(Op op);

/// Scalar operations of a node for one row, from the shapes of one row.
[[nodiscard]] std::int64_t row_operations(const RowSite& site);

/// The variable of a text that is the state of an interpreted network.
[[nodiscard]] std::string state_of_network(const Node& node);

namespace row_split {
RowSplit never(const RowSite& site);
RowSplit shared(const RowSite& site);
RowSplit elementwise(const RowSite& site);
RowSplit reduce(const RowSite& site);
RowSplit reshape(const RowSite& site);
RowSplit permute(const RowSite& site);
RowSplit broadcast(const RowSite& site);
RowSplit slice(const RowSite& site);
RowSplit pad(const RowSite& site);
RowSplit concat(const RowSite& site);
RowSplit matmul(const RowSite& site);
RowSplit gather(const RowSite& site);
RowSplit random(const RowSite& site);
RowSplit interpret(const RowSite& site);
}  // namespace row_split

namespace row_write {
void constant(RowWriter& writer, const Node& node);
void iota(RowWriter& writer, const Node& node);
void elementwise(RowWriter& writer, const Node& node);
void div(RowWriter& writer, const Node& node);
void logical_not(RowWriter& writer, const Node& node);
void cast(RowWriter& writer, const Node& node);
void logical_and(RowWriter& writer, const Node& node);
void logical_or(RowWriter& writer, const Node& node);
void select(RowWriter& writer, const Node& node);
void same(RowWriter& writer, const Node& node);
void reduce(RowWriter& writer, const Node& node);
void argmax(RowWriter& writer, const Node& node);
void reshape(RowWriter& writer, const Node& node);
void permute(RowWriter& writer, const Node& node);
void broadcast(RowWriter& writer, const Node& node);
void slice(RowWriter& writer, const Node& node);
void pad(RowWriter& writer, const Node& node);
void concat(RowWriter& writer, const Node& node);
void gather(RowWriter& writer, const Node& node);
void matmul(RowWriter& writer, const Node& node);
void random(RowWriter& writer, const Node& node);
void activate(RowWriter& writer, const Node& node);
void interpret(RowWriter& writer, const Node& node);
}  // namespace row_write

}  // namespace cambrian::gpu
