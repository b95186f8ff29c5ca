#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "cambrian/engine/eager/record.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"

namespace cambrian {

/// One graph of some records, with an input for every value that comes from elsewhere.
struct RecordGraph {
    Graph graph;
    std::vector<std::shared_ptr<EagerValue>> operands;  ///< Of the inputs, in order.
    std::unordered_map<const EagerValue*, Var> vars;

    /// What stands for the value in the graph; an input where nothing does yet.
    Var operand(const std::shared_ptr<EagerValue>& value) {
        const auto [place, is_new] = vars.try_emplace(value.get());
        if (is_new) {
            place->second =
                graph.input("x" + std::to_string(operands.size()), value->type, value->shape);
            operands.push_back(value);
        }
        return place->second;
    }
    /// Appends a record with a body, after those that compute its operands.
    void append(const EagerRecord& record) {
        std::vector<Var> inputs;
        for (const auto& value : record.operands) inputs.push_back(operand(value));
        const std::vector<Var> results = inline_graph(graph, *record.body, inputs);
        for (std::size_t i = 0; i < results.size(); ++i)
            if (const auto value = record.results[i].lock()) vars[value.get()] = results[i];
    }
};

}  // namespace cambrian
