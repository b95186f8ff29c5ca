#include <utility>

#include "cambrian/engine/backend/backend.hpp"

#include "cambrian/engine/backend/host_copy.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian {

void Backend::inherit(std::span<const WeightDraws>, std::span<const WeightTask>) {
    throw ContractViolation("a backend that keeps no weights was asked to write some");
}
namespace {

void check_inputs(const Graph& graph, std::int64_t population, std::span<const Tensor> inputs) {
    if (inputs.size() != graph.inputs().size())
        throw ShapeError("evaluate got " + std::to_string(inputs.size()) +
                         " inputs (the graph has " + std::to_string(graph.inputs().size()) +
                         ") pass one tensor for each input");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const ValueInfo& info = graph.value(graph.inputs()[i]);
        const Shape wanted = bound_shape(info, population);
        if (inputs[i].shape != wanted || inputs[i].type != info.type)
            throw ShapeError("input '" + graph.input_name(i) + "' is " +
                             std::string(name(inputs[i].type)) + " " + inputs[i].shape.text() +
                             " (the graph declares " + std::string(name(info.type)) + " " +
                             wanted.text() + ") pass a tensor of that type and shape");
    }
}

}  // namespace

std::vector<Tensor> evaluate(Backend& backend, const Graph& graph, std::int64_t population,
                             std::span<const Tensor> inputs) {
    check_inputs(graph, population, inputs);
    const auto program = backend.compile(graph);
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Binding> bindings;
    for (const Tensor& input : inputs) {
        buffers.push_back(upload_tensor(backend, input));
        bindings.push_back({buffers.back().get(), 0});
    }
    const OutputBuffers outputs(backend, graph, population);
    program->run(population, bindings, outputs.bindings());
    return outputs.read(backend);
}

std::string ArithmeticFingerprint::text() const {
    std::string text = kind + " " + math + ", arithmetic " + build;
    if (!device.empty()) text += ", on " + device;
    if (!library.empty()) text += ", with " + library;
    return text;
}

std::string arithmetic_of(const Backend& backend) {
    const ArithmeticFingerprint fingerprint = backend.describe();
    return fingerprint.math == "strict" ? "strict, arithmetic " + fingerprint.build
                                        : fingerprint.text();
}

}  // namespace cambrian
