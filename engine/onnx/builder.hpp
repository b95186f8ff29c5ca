#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/onnx/model.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian::onnx {

/// The type that values of ours have in a model.
[[nodiscard]] ElementType element_type(ValueType type);

/// The extent that is known when a model runs: rows that it computes at once.
inline constexpr std::string_view batch_axis = "batch";

/// Puts a graph of ONNX together: nodes, constants and names, each of which is there once.
class Builder {
  public:
    /// Declares an input; its name must be free. The first one has the batch as its first axis.
    std::string input(Value value);
    /// Declares that a value is an output by the name, which must be free.
    void output(const std::string& name, Value value);

    /// Appends a node with one result, or several; their names.
    std::string add(std::string_view operation, std::vector<std::string> inputs,
                    std::vector<Attribute> attributes = {});
    std::vector<std::string> add(std::string_view operation, std::vector<std::string> inputs,
                                 std::vector<Attribute> attributes, std::size_t results);

    /// A constant; its name, which is the one that is wanted with a number after it where that one
    /// is taken.
    std::string constant(const Tensor& value, std::string_view wanted);
    std::string constant(Initializer value);
    std::string constant(std::string_view wanted, ElementType type,
                         std::vector<std::int64_t> extents, std::span<const double> elements);
    /// Numbers that nodes take as operands; equal ones are one constant.
    std::string integers(const std::vector<std::int64_t>& values);
    /// A scalar likewise.
    std::string scalar(double value, ElementType type = ElementType::real32);

    /// The value [..] of rank `rank` with the batch as a further first axis, repeated.
    std::string spread(const std::string& value, int rank);

    /// What is appended until end_body() is of the body of a loop, which sees all values before.
    void begin_body() { bodies_.emplace_back(); }
    [[nodiscard]] std::vector<NodeMessage> end_body();

    /// The whole graph.
    [[nodiscard]] GraphMessage finish(std::string name);
    /// A name that no other value has.
    [[nodiscard]] std::string free_name(std::string_view wanted);

  private:
    GraphMessage graph_;
    std::vector<std::vector<NodeMessage>> bodies_;
    std::set<std::string, std::less<>> taken_;
    std::map<std::string, std::size_t, std::less<>> numbers_;  ///< The last ones, of names.
    std::map<std::vector<std::int64_t>, std::string> integers_;
    std::map<std::pair<double, ElementType>, std::string> scalars_;
    std::string batch_;  ///< The extent as a value [1]; empty: nobody asked.
};

}  // namespace cambrian::onnx
