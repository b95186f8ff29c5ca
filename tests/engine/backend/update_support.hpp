#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/graph.hpp"

namespace cambrian::test {

/// Where the new content of an input goes.
enum class Bound : std::uint8_t { in_place, apart };

/// Runs a graph several times, every update feeding the next run: in place, or through outputs of
/// their own that are copied back. The outputs of the last run.
inline std::vector<Tensor> run_updates(Backend& backend, const Graph& graph,
                                       std::int64_t population, std::span<const Tensor> inputs,
                                       int runs, Bound bound) {
    const auto words = [&](ValueId id) {
        const ValueInfo& info = graph.value(id);
        return info.shape.elements() * (info.per_individual ? population : 1);
    };
    const auto download = [&](const Buffer& buffer) {
        Tensor tensor(buffer.type(), Shape{buffer.elements()});
        backend.download(buffer, 0, std::span<double>(tensor.elements));
        return tensor;
    };
    std::vector<std::unique_ptr<Buffer>> held;
    std::vector<Binding> in;
    std::vector<Binding> out;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        held.push_back(backend.allocate(inputs[i].type, words(graph.inputs()[i])));
        backend.upload(*held.back(), 0, std::span<const double>(inputs[i].elements));
        in.push_back({held.back().get(), 0});
    }
    for (const ValueId id : graph.outputs()) {
        held.push_back(backend.allocate(graph.value(id).type, words(id)));
        out.push_back({held.back().get(), 0});
    }
    if (bound == Bound::in_place)
        for (const Update& update : graph.updates()) out[update.output] = in[update.input];
    const auto program = backend.compile(graph);
    for (int run = 0; run < runs; ++run) {
        program->run(population, in, out);
        if (bound == Bound::in_place || run + 1 == runs) continue;
        for (const Update& update : graph.updates()) {
            const Tensor content = download(*out[update.output].buffer);
            backend.upload(*in[update.input].buffer, 0, std::span<const double>(content.elements));
        }
    }
    std::vector<Tensor> results;
    for (const Binding& binding : out) results.push_back(download(*binding.buffer));
    return results;
}

/// Declares, for every real input of a graph, the last value of its type, shape and mark as its new
/// content, where there is one.
inline void declare_updates(Graph& graph) {
    for (const ValueId input : std::vector<ValueId>(graph.inputs().begin(), graph.inputs().end())) {
        if (graph.value(input).type != ValueType::real) continue;
        for (auto id = static_cast<std::uint32_t>(graph.value_count()); id-- > 0;) {
            if (graph.value(ValueId{id}) != graph.value(input)) continue;
            graph.update({&graph, input}, {&graph, ValueId{id}});
            break;
        }
    }
}

/// A row of two heads that sees a cache and is put into it, for two texts.
inline Graph cached_row(bool per_individual) {
    Graph graph;
    const Var cache = graph.input("cache", ValueType::real, {2, 2, 6, 4}, per_individual);
    const Var row = graph.input("row", ValueType::real, {2, 2, 1, 4}, per_individual);
    const Var position = graph.input("position", ValueType::integer, {2});
    graph.update(cache, put_row(cache, row, position));
    graph.output(cached_attention(row, {cache, cache}, {row, row}, position));
    return graph;
}

inline std::vector<Tensor> cached_row_inputs(std::int64_t individuals) {
    std::vector<Tensor> inputs;
    for (const std::int64_t rows : {6, 1}) {
        inputs.emplace_back(ValueType::real, Shape{individuals, 2, 2, rows, 4});
        std::vector<double>& elements = inputs.back().elements;
        for (std::size_t i = 0; i < elements.size(); ++i)
            elements[i] = static_cast<double>(i % 7) - 0.5 * static_cast<double>(rows);
    }
    inputs.emplace_back(ValueType::integer, Shape{2}, std::vector<double>{1, 5});
    return inputs;
}

}  // namespace cambrian::test
